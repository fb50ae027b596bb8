from latesum.cli import main

main()
