# docker build -t autograd-explorer .
# docker run --rm --init -p 8501:8501 autograd-explorer
#
# For a public server, start it with the limits of deploy/compose.yaml; docs/deployment.md says what
# each limit protects. One stage is enough, because nothing is compiled.
FROM python:3.11-slim-bookworm

WORKDIR /app
COPY packages.txt requirements.txt requirements-extra.txt ./
RUN apt-get update \
    && xargs -a packages.txt apt-get install -y --no-install-recommends \
    && rm -rf /var/lib/apt/lists/*

# Install torch first, from PyTorch's own index: its CPU build is much smaller than PyPI's, which
# includes CUDA. For a GPU, name a CUDA index instead: --build-arg TORCH_INDEX=...
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
RUN pip install --no-cache-dir --index-url "$TORCH_INDEX" \
        $(grep -E '^torch(vision)?==' requirements.txt) \
    && pip install --no-cache-dir -r requirements.txt -r requirements-extra.txt

# Streamlit's front end forgets all widgets when it meets a server with another machine-id, as after
# the loss of a replica: those made of one image have the same.
RUN echo 00000000000000000000000000000001 > /etc/machine-id

# The code belongs to root, so that the app cannot change it, and is readable by all users, whatever
# the modes of the checkout are. The app may only keep files in /weights.
COPY .streamlit .streamlit
COPY explorer explorer
COPY pages pages
COPY app.py ./
RUN chmod -R a+rX . \
    && python -m compileall -q app.py explorer pages \
    && useradd --uid 10001 --create-home explorer \
    && install -d -o explorer -g explorer /weights

ENV PYTHONUNBUFFERED=1 \
    TORCH_HOME=/weights \
    MPLCONFIGDIR=/tmp/matplotlib \
    XDG_CACHE_HOME=/tmp/cache \
    STREAMLIT_SERVER_HEADLESS=true \
    STREAMLIT_SERVER_ADDRESS=0.0.0.0 \
    STREAMLIT_SERVER_PORT=8501

# Numeric, so that an orchestrator can see that it is not root.
USER 10001:10001
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import os, urllib.request; base = os.environ.get('STREAMLIT_SERVER_BASE_URL_PATH', '').strip('/'); urllib.request.urlopen('http://127.0.0.1:' + os.environ['STREAMLIT_SERVER_PORT'] + os.path.join('/', base, 'ready'), timeout=4)"]
CMD ["streamlit", "run", "app.py"]
