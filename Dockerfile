# Forge as a container: built in one stage, run as its own user in a small second one.
#
#   docker build -t forge .
#   docker run -d --name forge --init -p 127.0.0.1:7400:7400 \
#     -e FORGE_SERVER__PUBLIC_URL=http://localhost:7400 \
#     -v forge-data:/data -v forge-workspaces:/workspaces forge
#   docker logs forge            # where the first administrator goes

FROM rust:1.95.0-slim-bookworm AS build
# The toolchain of the image, without the tools for developers that rust-toolchain.toml names.
ENV RUSTUP_TOOLCHAIN=1.95.0
WORKDIR /src
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    cargo build --release --locked --bin forge && cp target/release/forge /usr/local/bin/forge

FROM debian:bookworm-slim
# git and bash are what agents and Forge itself work with. A team adds its own toolchains in an
# image on top of this one.
RUN apt-get update \
    && apt-get install -y --no-install-recommends bash ca-certificates git \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --create-home --shell /usr/sbin/nologin forge \
    && install -d -o forge -g forge -m 0700 /data \
    && install -d -o forge -g forge /workspaces
COPY --from=build /usr/local/bin/forge /usr/local/bin/forge
ENV FORGE_SERVER__BIND=0.0.0.0:7400 \
    FORGE_DATA__DIR=/data \
    FORGE_PROJECTS__WORKSPACES=/workspaces
USER forge
WORKDIR /home/forge
VOLUME ["/data", "/workspaces"]
EXPOSE 7400
# Below the path of the public URL, if it has one. The image has no other client than bash.
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 \
    CMD ["bash", "-c", "url=${FORGE_SERVER__PUBLIC_URL#*://}; url=${url%/}/; base=/${url#*/}; exec 3<>/dev/tcp/127.0.0.1/${FORGE_SERVER__BIND##*:} && printf 'GET %s/health/ready HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' \"${base%/}\" >&3 && read -r _ status _ <&3 && [ \"$status\" = 200 ]"]
STOPSIGNAL SIGTERM
CMD ["forge", "serve"]
