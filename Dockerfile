# The service and the worker, with what the lock says and nothing else.
FROM python:3.12-slim AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
RUN python -m venv /opt/muniment
WORKDIR /build
COPY requirements/run.lock ./
RUN /opt/muniment/bin/pip install --require-hashes -r run.lock
COPY pyproject.toml LICENSE README.md ./
COPY src src
RUN /opt/muniment/bin/pip install --no-deps --no-build-isolation .

FROM python:3.12-slim
# `muniment ingest git` reads repositories through git.
RUN apt-get update \
    && apt-get install -y --no-install-recommends git \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --user-group --home-dir /var/lib/muniment --create-home muniment
COPY --from=build /opt/muniment /opt/muniment
ENV PATH=/opt/muniment/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    MUNIMENT_HOME=/var/lib/muniment
USER muniment
WORKDIR /var/lib/muniment
VOLUME /var/lib/muniment
EXPOSE 8790
ENTRYPOINT ["muniment"]
CMD ["serve"]
