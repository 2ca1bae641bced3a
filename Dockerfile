# PostgreSQL with the extensions sno, sno_compat and sno_citus: the official image, the files of `make install` on top, and a configuration that
# preloads sno. Or these files alone, as an extension image for CloudNativePG.
#
#   docker build --build-arg PG=18 -t postgres-sno .
#   docker run -e POSTGRES_PASSWORD=… postgres-sno postgres -c sno.partition_prefix=42
#
# A data directory that was created before has its own postgresql.conf, which needs the line that follows COPY at the end.
#
#   docker build --build-arg PG=18 --target extension -t sno:1.0.0-18-trixie .
#
# PG is 15 to 19 (18 or 19 for the extension image), SUITE a release of Debian that the official image has.
ARG PG=18
ARG SUITE=trixie
ARG POSTGRES=postgres:${PG}-${SUITE}
ARG RUST=rust:1-${SUITE}

FROM ${RUST} AS rust

FROM ${POSTGRES} AS build
ARG PG
RUN apt-get update && \
    apt-get install --yes --no-install-recommends \
        ca-certificates clang gcc libc6-dev libclang-dev make "postgresql-server-dev-$PG"
COPY --from=rust /usr/local/rustup/ /usr/local/rustup/
COPY --from=rust /usr/local/cargo/ /usr/local/cargo/
ENV RUSTUP_HOME=/usr/local/rustup CARGO_HOME=/usr/local/cargo PATH=/usr/local/cargo/bin:$PATH
COPY . /src
WORKDIR /src
RUN make PG="$PG" && make install PG="$PG" DESTDIR=/out STRIP=1 && \
    mkdir /licenses && cp LICENSE /licenses/ && dev/licenses "$PG" >/licenses/crates.txt

FROM scratch AS extension
ARG PG
ARG SUITE
# What is built, from where and when.
ARG VERSION=
ARG REVISION=
ARG CREATED=
ARG REPOSITORY=
COPY --from=build /out/usr/lib/postgresql/${PG}/lib/ /lib/
COPY --from=build /out/usr/share/postgresql/${PG}/extension/ /share/extension/
COPY --from=build /licenses/ /licenses/sno/
USER 65532:65532
LABEL org.opencontainers.image.created="${CREATED}" \
    org.opencontainers.image.url="${REPOSITORY}" \
    org.opencontainers.image.source="${REPOSITORY}" \
    org.opencontainers.image.documentation="${REPOSITORY}" \
    org.opencontainers.image.version="${VERSION}" \
    org.opencontainers.image.revision="${REVISION}" \
    org.opencontainers.image.vendor="The sno developers" \
    org.opencontainers.image.authors="The sno developers" \
    org.opencontainers.image.title="sno ${VERSION} for PostgreSQL ${PG} on ${SUITE}" \
    org.opencontainers.image.description="Unique IDs of 10 bytes and 16 characters that sort by time" \
    org.opencontainers.image.licenses="MIT" \
    org.opencontainers.image.base.name="scratch" \
    io.cloudnativepg.image.base.name="postgres:${PG}-${SUITE}" \
    io.cloudnativepg.image.base.pgmajor="${PG}" \
    io.cloudnativepg.image.base.os="${SUITE}" \
    io.cloudnativepg.image.sql.version="${VERSION}"

FROM ${POSTGRES}
COPY --from=build /out/ /
# What initdb makes postgresql.conf of.
RUN echo "shared_preload_libraries = 'sno'" >>/usr/share/postgresql/postgresql.conf.sample
