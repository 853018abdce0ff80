# The service without PostgreSQL: it needs DATABASE_URL. See docs/deployment.md. `npm run campaign -- deployment` executes these instructions
# without a container engine.
ARG NODE_IMAGE=node:24-trixie-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
# Packages before sources, because they change less often. The optional ones are Node and PostgreSQL.
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --omit=optional --no-audit --no-fund
COPY packages/console/package.json packages/console/package-lock.json packages/console/
COPY packages/docs/package.json packages/docs/package-lock.json packages/docs/
RUN npm ci --prefix packages/console --no-audit --no-fund && npm ci --prefix packages/docs --no-audit --no-fund
COPY . .
RUN npm run build --prefix packages/console -- --out dist && npm run build --prefix packages/docs -- --out dist && rm -rf packages/*/node_modules
# Stripping types and compiling take half of a start. The process cannot write its tree, so the compile cache is created here, under the
# user id it runs as, which is part of the cache's path.
ENV NODE_COMPILE_CACHE=/app/node_modules/.cache/bellhop
RUN mkdir -p "$NODE_COMPILE_CACHE" && chown 10001:10001 "$NODE_COMPILE_CACHE"
USER 10001:10001
RUN node bin/warm-compile-cache.mjs

FROM ${NODE_IMAGE}
LABEL org.opencontainers.image.title="Bellhop" \
      org.opencontainers.image.description="An open hotel data ingestion service" \
      org.opencontainers.image.licenses="Apache-2.0"
# An account that owns no files: root owns the code, so the process cannot change it.
RUN groupadd --gid 10001 bellhop && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin bellhop
WORKDIR /app
COPY --from=build --chown=0:0 /app /app
# The settings of malloc, young objects and the compile cache are those of bin/launch.mjs, which installs packages and has no part here.
ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    PORT=8080 \
    MALLOC_ARENA_MAX=2 \
    MALLOC_MMAP_THRESHOLD_=1048576 \
    NODE_OPTIONS=--max-semi-space-size=4 \
    NODE_COMPILE_CACHE=/app/node_modules/.cache/bellhop
USER 10001:10001
EXPOSE 8080
STOPSIGNAL SIGTERM
# Liveness, not readiness: a process that waits for its database must not be restarted.
HEALTHCHECK --interval=30s --timeout=5s --start-period=5m --retries=3 CMD ["node", "bin/ask-health.mjs"]
ENTRYPOINT ["node", "src/main.ts"]
CMD ["serve"]
