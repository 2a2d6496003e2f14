"""The real path of published weights, from a server on this machine."""

import hashlib
import io
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import torch

from explorer.torchvision_guard import torchvision
from explorer.vision import DownloadError, WeightsError, build, load_published
from explorer.vision.download import cached_file, fetch


@contextmanager
def serving(content: bytes, *, status: int = 200, claimed: int | None = None) -> Iterator[str]:
    """The address of a server that answers every request with `content`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(claimed or len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def checkpoint(state: dict[str, torch.Tensor]) -> bytes:
    file = io.BytesIO()
    torch.save(state, file)
    return file.getvalue()


def named(content: bytes, stem: str = "weights") -> str:
    """A file name as PyTorch's publishers give it."""
    return f"{stem}-{hashlib.sha256(content).hexdigest()[:8]}.pth"


def other_weights(name: str) -> dict[str, torch.Tensor]:
    torch.manual_seed(7)
    return torchvision.models.get_model(name, weights=None).state_dict()


def old_names(state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """As densenet's published file has them: "denselayer1.norm.1.weight", and no counters."""
    changed = {}
    for key, value in state.items():
        parts = key.split(".")
        for i, part in enumerate(parts):
            if i and parts[i - 1].startswith("denselayer") and part[:-1] in ("norm", "conv"):
                parts[i] = f"{part[:-1]}.{part[-1]}"
        if not key.endswith("num_batches_tracked"):
            changed[".".join(parts)] = value
    return changed


@pytest.mark.parametrize("name", ["resnet18", "densenet121", "mobilenet_v3_small"])
def test_published_weights_arrive_in_the_model(name: str, tmp_path: Path) -> None:
    state = other_weights(name)
    content = checkpoint(old_names(state) if name == "densenet121" else state)
    model, steps = build(name), []
    with serving(content) as address:
        url = f"{address}/{named(content, name)}"
        load_published(
            model, name, url=url, folder=tmp_path, progress=lambda *step: steps.append(step)
        )
    for key, value in model.state_dict().items():
        assert torch.equal(value, state[key]), key
    assert not model.training
    done = [step[0] for step in steps]
    assert done == sorted(done)
    assert steps[-1] == (len(content), len(content))
    assert len(steps) > 10
    # The second time nothing is asked of the network: the server is gone.
    again = build(name)
    load_published(again, name, url=url, folder=tmp_path)
    assert torch.equal(next(again.parameters()), next(model.parameters()))
    assert [path.name for path in tmp_path.iterdir()] == [named(content, name)]


def test_a_changed_file_is_refused_and_not_kept(tmp_path: Path) -> None:
    content = checkpoint({"x": torch.zeros(3)})
    with serving(content + b"!") as address:
        url = f"{address}/{named(content)}"
        with pytest.raises(DownloadError, match="arrived damaged or changed"):
            fetch(url, folder=tmp_path)
    assert not list(tmp_path.iterdir())
    assert cached_file(url, tmp_path) is None


def test_a_connection_that_ends_early_is_said(tmp_path: Path) -> None:
    content = bytes(100_000)
    with (
        serving(content, claimed=200_000) as address,
        pytest.raises(DownloadError, match="ended after 100000 of 200000 bytes"),
    ):
        fetch(f"{address}/{named(content)}", folder=tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with (
        serving(b"gone", status=404) as address,
        pytest.raises(DownloadError, match=r"could not be downloaded \(.*Not Found"),
    ):
        fetch(f"{address}/{named(b'gone')}", folder=tmp_path)
    assert not list(tmp_path.iterdir())


def test_without_a_connection_the_answer_says_what_to_do(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening: nobody answers
        port = taken.getsockname()[1]
        url = f"http://127.0.0.1:{port}/resnet18-f37072fd.pth"
        model = build("resnet18")
        before = model.conv1.weight.clone()
        with pytest.raises(DownloadError, match=r"Connection refused.*Check the connection"):
            load_published(model, "resnet18", url=url, folder=tmp_path)
    assert torch.equal(model.conv1.weight, before)


def test_a_name_without_a_hash_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="contains no hash"):
        fetch("http://127.0.0.1:9/weights.pth", folder=tmp_path)


def test_weights_of_another_network_are_refused(tmp_path: Path) -> None:
    content = checkpoint({"conv1.weight": torch.zeros(3)})
    model = build("resnet18")
    before = model.conv1.weight.clone()
    with (
        serving(content) as address,
        pytest.raises(WeightsError, match="has shape"),
    ):
        load_published(model, "resnet18", url=f"{address}/{named(content)}", folder=tmp_path)
    assert torch.equal(model.conv1.weight, before)


def test_a_file_that_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    content = b"no checkpoint"
    with serving(content) as address, pytest.raises(WeightsError, match="cannot be read"):
        load_published(
            build("resnet18"), "resnet18", url=f"{address}/{named(content)}", folder=tmp_path
        )


def test_two_readers_may_fetch_the_same_file(tmp_path: Path) -> None:
    content = bytes(range(256)) * 20_000
    paths: list[Path] = []
    with serving(content) as address:
        url = f"{address}/{named(content)}"
        threads = [
            threading.Thread(target=lambda: paths.append(fetch(url, folder=tmp_path)))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [path.read_bytes() for path in paths] == [content] * 4
    assert [path.name for path in tmp_path.iterdir()] == [named(content)]
