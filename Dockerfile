# The app, and the workers of a cluster. `docker build .` gives the CPU image, `--build-arg DEVICE=gpu` that for NVIDIA's.
# docs/running.md says how to run them.
ARG DEVICE=cpu

FROM python:3.13-slim-trixie AS cpu
ENV REQUIREMENTS=requirements.txt

# The base holds what the driver asks of a container; TensorFlow brings its CUDA libraries. Ubuntu brings Python 3.12.
FROM nvidia/cuda:12.6.3-base-ubuntu24.04 AS gpu
ENV REQUIREMENTS=requirements-gpu.txt
RUN apt-get update && apt-get install -y --no-install-recommends python3 python3-venv && rm -rf /var/lib/apt/lists/*

FROM ${DEVICE} AS packages
WORKDIR /build
COPY requirements.txt requirements-gpu.txt ./
RUN python3 -m venv /opt/calib \
    && /opt/calib/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes -r "$REQUIREMENTS"

FROM ${DEVICE}
RUN useradd --uid 10001 --user-group --no-create-home --home-dir /nonexistent calib \
    && install --directory --mode 700 --owner 10001 --group 10001 /workspace
COPY --from=packages /opt/calib /opt/calib
WORKDIR /app
COPY .streamlit .streamlit
COPY sample_data sample_data
COPY calib calib
COPY pages pages
COPY app.py LICENSE ./
RUN /opt/calib/bin/python -m compileall -q app.py calib pages

# Nothing outside of /workspace and /tmp is written, so the root may be read-only. Uploaded files go to /tmp, from which
# nothing can be executed where it is mounted as compose.yaml does it.
ENV PATH=/opt/calib/bin:$PATH \
    PYTHONPATH=/app \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    HOME=/tmp \
    TMPDIR=/tmp \
    CALIB_WORKSPACE=/workspace \
    CALIB_TRUST_NETWORK=yes \
    STREAMLIT_SERVER_HEADLESS=true \
    STREAMLIT_SERVER_ADDRESS=0.0.0.0 \
    STREAMLIT_SERVER_PORT=8501
USER 10001:10001
VOLUME /workspace
EXPOSE 8501
HEALTHCHECK --start-period=60s --interval=30s --timeout=5s --retries=3 CMD ["python", "-c", "\
import os, http.client; \
base = os.environ.get('STREAMLIT_SERVER_BASE_URL_PATH', '').strip('/'); \
server = http.client.HTTPConnection('127.0.0.1', int(os.environ['STREAMLIT_SERVER_PORT']), timeout=4); \
server.request('GET', '/' + base + '/' * bool(base) + '_stcore/health'); \
raise SystemExit(server.getresponse().status != 200)"]
# A setting that is wrong ends the container with the sentence that says so.
CMD ["sh", "-c", "python -m calib settings > /dev/null && exec streamlit run app.py"]
