"""A camera for tests: an RTSP server (RFC 2326) that sends motion JPEG (RFC 2435) within its connection."""

import socket
import struct
import time

import cv2

_PAYLOAD = 26  # JPEG, of a clock of 90,000 ticks a second (RFC 3551)
_CLOCK = 90_000
_PACKET = 1400
_DESCRIPTION = (
    "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=camera\r\nt=0 0\r\n"
    f"m=video 0 RTP/AVP {_PAYLOAD}\r\na=control:0\r\n"
)


def _packets(image, time_s: float, sequence: int):
    """RTP packets of an image, each framed for channel 0."""
    content = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_OPTIMIZE, 0])[1].tobytes()
    tables, scan, sampling = b"", None, 0
    place = 2
    while scan is None:
        marker, length = content[place + 1], int.from_bytes(content[place + 2 : place + 4], "big")
        segment = content[place + 4 : place + 2 + length]
        if marker == 0xDB:
            while segment:
                tables, segment = tables + segment[1:65], segment[65:]
        elif marker == 0xC0:
            sampling = segment[7]  # of the luminance, across and down: 0x21 is 4:2:2, 0x22 is 4:2:0
        place += 2 + length
        if marker == 0xDA:
            scan = content[place:-2]
    height, width = image.shape[:2]
    offset = 0
    while offset < len(scan):
        head = struct.pack(">I", offset) + bytes([int(sampling == 0x22), 255, width // 8, height // 8])
        if offset == 0:
            head += struct.pack(">HH", 0, len(tables)) + tables
        part = scan[offset : offset + _PACKET]
        offset += len(part)
        last = offset == len(scan)
        rtp = struct.pack(">BBHII", 0x80, _PAYLOAD | last << 7, sequence & 0xFFFF, int(time_s * _CLOCK), 1)
        packet = rtp + head + part
        sequence += 1
        yield b"$\0" + struct.pack(">H", len(packet)) + packet


def send_rtsp(images, interval_s: float, stays: bool = False):
    """An answer for `serve`: a camera that plays images (H, W, 3) uint8, sides multiples of 8, and goes, or
    stays and is silent."""

    def answer(connection: socket.socket):
        port = connection.getsockname()[1]
        requests = connection.makefile("rb")
        while True:
            lines = []
            while line := requests.readline().strip():
                lines.append(line.decode())
            if not lines:
                return
            method = lines[0].split()[0]
            number = next(line for line in lines if line.lower().startswith("cseq"))
            head, body = ["RTSP/1.0 200 OK", number, "Session: 1"], ""
            if method == "OPTIONS":
                head.append("Public: OPTIONS, DESCRIBE, SETUP, PLAY, TEARDOWN")
            elif method == "DESCRIBE":
                body = _DESCRIPTION
                head += [
                    f"Content-Base: rtsp://127.0.0.1:{port}/live/",
                    "Content-Type: application/sdp",
                    f"Content-Length: {len(body)}",
                ]
            elif method == "SETUP":
                head.append("Transport: RTP/AVP/TCP;unicast;interleaved=0-1")
            connection.sendall(("\r\n".join(head) + "\r\n\r\n" + body).encode())
            if method == "PLAY":
                break
        sequence = 0
        began = time.monotonic()
        for sent, image in enumerate(images, 1):
            for packet in _packets(image, time.monotonic() - began, sequence):
                connection.sendall(packet)
                sequence += 1
            time.sleep(max(0.0, began + sent * interval_s - time.monotonic()))  # on a busy machine too
        if stays:
            requests.read()
        connection.close()

    return answer
