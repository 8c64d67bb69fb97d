"""Videos and images that carry their number as black and white blocks: a decoded image proves which it is."""

import os
import re
import struct
from fractions import Fraction
from pathlib import Path

import av
import cv2
import numpy as np

SIZE_WH = (64, 48)


def draw(number: int, size_wh: tuple[int, int] = SIZE_WH) -> np.ndarray:
    """(H, W, 3) image that shows the number, below 4096, in three rows of four blocks, clouded."""
    bits = number >> np.arange(12).reshape(3, 4) & 1
    clouds = cv2.resize(np.random.default_rng(number).uniform(0, 60, (12, 16)), SIZE_WH)
    image = (np.kron(190 * bits, np.ones((16, 16))) + clouds).astype(np.uint8)
    return cv2.resize(cv2.merge([image] * 3), size_wh, interpolation=cv2.INTER_NEAREST)


def number_in(image: np.ndarray) -> int:
    image = cv2.resize(image, SIZE_WH, interpolation=cv2.INTER_NEAREST)
    blocks = image.reshape(3, 16, 4, 16, 3).mean(axis=(1, 3, 4)).ravel()
    return sum(int(mean > 128) << bit for bit, mean in enumerate(blocks))


def write_video(path: Path, count: int, fourcc: str = "MJPG", fps: float = 25.0, first: int = 0) -> Path:
    writer = cv2.VideoWriter(str(path), cv2.CAP_FFMPEG, cv2.VideoWriter_fourcc(*fourcc), fps, SIZE_WH)
    assert writer.isOpened()
    for number in range(first, first + count):
        writer.write(draw(number))
    writer.release()
    return path


def blank(path: Path, numbers: range) -> None:
    """Put zeros in the place of some pictures of a motion JPEG file (AVI): they are there, undecodable."""
    content = bytearray(path.read_bytes())
    pictures = [match.start() + 4 for match in re.finditer(rb"00dc(?=.{4}\xff\xd8)", content, re.DOTALL)]
    for k in numbers:
        start = pictures[k] + 4
        length = int.from_bytes(content[pictures[k] : start], "little")
        content[start : start + length] = bytes(length)
    path.write_bytes(content)


def patch_avi_header(path: Path, **fields: int) -> None:
    """Overwrite scale, rate or length in the header of an AVI file's video stream."""
    data = bytearray(path.read_bytes())
    start = data.index(b"strh") + 8
    offsets = {"scale": 20, "rate": 24, "length": 32}
    for name, value in fields.items():
        struct.pack_into("<I", data, start + offsets[name], value)
    path.write_bytes(data)


def write_encoded(
    path: Path, images, codec: str = "libx264", times_ms=None, container=None, pix_fmt=None, **options
) -> str:
    """Write images (H, W, 3), 25 a second or at times of their own; `container`: its options; by PyAV."""
    with av.open(path, "w", options=container or {}) as video:
        stream = video.add_stream(codec, rate=25, options=options)
        stream.height, stream.width = images[0].shape[:2]
        stream.pix_fmt = pix_fmt or stream.pix_fmt
        if times_ms is not None:
            stream.codec_context.time_base = Fraction(1, 1000)
        for k, image in enumerate(images):
            frame = av.VideoFrame.from_ndarray(image, format="bgr24")
            if times_ms is not None:
                frame.pts, frame.time_base = times_ms[k], Fraction(1, 1000)
            video.mux(stream.encode(frame))
        video.mux(stream.encode())
    return str(path)


def write_interlaced(
    path: Path, count: int, codec: str = "mpeg2video", size_wh=SIZE_WH, title: str = "", **options
) -> Path:
    """Write numbered frames as two fields each, 25 frames a second, a key frame every 12th; by PyAV."""
    with av.open(path, "w") as container:
        container.metadata["title"] = title
        stream = container.add_stream(codec, rate=25, options={"flags": "+ilme+ildct", "g": "12", **options})
        stream.width, stream.height = size_wh
        stream.pix_fmt = "yuv420p"
        stream.bit_rate = 2_000_000
        for number in range(count):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(draw(number, size_wh), format="bgr24")))
        container.mux(stream.encode())
    return path


def write_later(path: Path, source: Path, first_s: float) -> Path:
    """Write a video again, as it is, with a clock that is at `first_s` when it begins; by PyAV."""
    with av.open(str(source)) as video, av.open(path, "w") as later:
        stream = video.streams.video[0]
        copy = later.add_stream_from_template(stream)
        for packet in video.demux(stream):
            if packet.dts is not None:
                shift = round(first_s / packet.time_base)
                packet.pts, packet.dts, packet.stream = packet.pts + shift, packet.dts + shift, copy
                later.mux(packet)
    return path


def write_restamped(path: Path, source: Path, times_ms) -> Path:
    """Write a video without reordered frames again, as it is but with these time stamps; by PyAV."""
    with av.open(str(source)) as video, av.open(path, "w") as other:
        copy = other.add_stream_from_template(video.streams.video[0])
        packets = (packet for packet in video.demux(video=0) if packet.dts is not None)
        for packet, time_ms in zip(packets, times_ms, strict=True):
            packet.pts = packet.dts = round(time_ms / 1000 / packet.time_base)
            packet.stream = copy
            other.mux(packet)
    return path


def write_images(folder: Path, count: int) -> list[Path]:
    paths = [folder / f"img{number}.png" for number in range(count)]
    for number, path in enumerate(paths):
        cv2.imwrite(str(path), draw(number))
    return paths


def damage(path: Path, frames: list[int]) -> None:
    """Overwrite the packets of some frames (numbered in the order of decoding) with noise."""
    data = bytearray(path.read_bytes())
    capture = cv2.VideoCapture(str(path), cv2.CAP_FFMPEG, [cv2.CAP_PROP_FORMAT, -1])
    noise = np.random.default_rng(0)
    number = 0
    while capture.grab():
        packet = capture.retrieve()[1].tobytes()
        if number in frames:
            if packet not in data:
                packet = packet[4:]  # H.264 has another prefix in the file than in memory
            assert data.count(packet) == 1
            place = data.index(packet)
            data[place : place + len(packet)] = noise.bytes(len(packet))
        number += 1
    capture.release()
    path.write_bytes(data)


def indices(frames) -> list[int]:
    return [frame.index for frame in frames]


def assert_numbered(frames) -> None:
    """Every image shows the number that the frame has."""
    assert [number_in(frame.image_bgr) for frame in frames] == [frame.index for frame in frames]


def summary(frames) -> list[tuple]:
    """All that a frame is, in a form that compares."""
    return [
        (f.index, f.time_s, f.flags, None if f.image_bgr is None else f.image_bgr.tobytes()) for f in frames
    ]


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))
