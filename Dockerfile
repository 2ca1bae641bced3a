# PostgreSQL with the extensions sno and sno_compat: the official image, and the files of `make install` on top.
#
#   docker build --build-arg PG=18 -t postgres-sno .
#   docker run -e POSTGRES_PASSWORD=… postgres-sno postgres -c sno.partition_prefix=42
#
# PG is a tag of that image: 15, 16, 17 or 18.
ARG PG=18

FROM postgres:${PG} AS build
ARG PG
RUN apt-get update && \
    apt-get install --yes --no-install-recommends \
        ca-certificates clang curl gcc libc6-dev libclang-dev make "postgresql-server-dev-$PG"
RUN curl --proto '=https' --tlsv1.2 --silent --show-error --fail https://sh.rustup.rs | \
    sh -s -- -y --profile minimal
ENV PATH=/root/.cargo/bin:$PATH
COPY . /src
WORKDIR /src
RUN make PG="$PG" && make install PG="$PG" DESTDIR=/out STRIP=1

FROM postgres:${PG}
COPY --from=build /out/ /
