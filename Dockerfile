# The service of latesum. Build: docker build -t latesum .  Run: see compose.yaml and docs/how-to/service.md.
# Another base with Python 3.11 or newer and venv: docker build --build-arg BASE=... -t latesum .
ARG BASE=python:3.11-slim
FROM ${BASE} AS build
WORKDIR /build
COPY requirements/build.lock requirements/service.lock requirements/
# The locked versions and no others; each file is checked by its hash.
RUN python3 -m venv /build/tools \
    && /build/tools/bin/pip install --no-cache-dir --require-hashes -r requirements/build.lock \
    && python3 -m venv /opt/latesum \
    && /opt/latesum/bin/pip install --no-cache-dir --require-hashes -r requirements/service.lock
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY src ./src
RUN /build/tools/bin/python -m hatchling build -t wheel -d /build/wheels \
    && /opt/latesum/bin/pip install --no-cache-dir --no-deps --no-index /build/wheels/latesum-*.whl

FROM ${BASE}
COPY --from=build /opt/latesum /opt/latesum
# The service runs as a user of its own, without rights, and writes to one folder only.
RUN useradd --create-home --uid 10001 latesum \
    && mkdir /data && chown latesum:latesum /data
# By number, so that a host without this user knows it too.
USER 10001
ENV PATH=/opt/latesum/bin:$PATH \
    LATESUM_DATA_DIR=/data \
    LATESUM_CACHE_DIR=/data/cache \
    PYTHONUNBUFFERED=1
# Kernels are compiled here, so a new volume begins with them; where its machine differs, they are
# compiled once more and kept in the volume: a read-only root does no harm.
RUN latesum warm-up
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=3s --start-period=20s CMD \
    ["python3", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/livez', timeout=2)"]
# Inside a container loopback cannot be reached from outside; what can be reached, compose.yaml says.
ENTRYPOINT ["latesum"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8000"]
