#!/usr/bin/env python3
# SPDX-FileCopyrightText: the tapeless authors
# SPDX-License-Identifier: MIT
"""The rooms of include/tapeless and which of them include which, as an SVG: include/tapeless/rooms.svg.

map.py DIR           the picture is that of the includes: fails where it is not
map.py --update DIR  draws it

A line of boxes is a line of layers.txt. An arrow leads from a room to one whose headers it includes; an arrow is left out
where a way of other arrows leads there. A box names its room and how many headers it holds.
"""
import collections
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from check import includes, read_layers, room_of  # noqa: E402

WIDTH, ROW, BOX, HIGH, MARGIN = 760, 58, 132, 30, 24


def rooms_and_arrows(root):
    level, _ = read_layers(root / "layers.txt")
    size, arrows = collections.Counter(), collections.defaultdict(set)
    for header in sorted(root.rglob("*.hpp")):
        room = room_of(header.relative_to(root))
        if not room:
            continue
        size[room] += 1
        for _, target, known in includes(root, header):
            if known and room_of(target) not in ("", room):
                arrows[room].add(room_of(target))
    return {room: line for room, line in level.items() if size[room]}, size, arrows


def reduced(arrows):
    """Without the arrows that longer ways replace."""
    def reach(room):
        found = set()
        for to in arrows[room]:
            found |= {to} | reach(to)
        return found

    reached = {room: reach(room) for room in list(arrows)}
    return {room: {to for to in targets if not any(to in reached.get(other, ()) for other in targets)}
            for room, targets in arrows.items()}


def draw(root):
    level, size, arrows = rooms_and_arrows(root.resolve())
    lines = sorted(set(level.values()))
    place = {}
    for i, line in enumerate(lines):
        rooms = [room for room in level if level[room] == line]
        for k, room in enumerate(rooms):
            place[room] = (WIDTH / 2 + (k - (len(rooms) - 1) / 2) * (BOX + 14), MARGIN + i * ROW)
    height = 2 * MARGIN + (len(lines) - 1) * ROW + HIGH
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" '
           'font-size="13">',
           '<defs><marker id="to" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
           'orient="auto"><path d="M0 0L8 4L0 8z" fill="#667"/></marker></defs>',
           f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>']
    for folder, colour in (("plan", "#eef3fb"), ("cpu", "#f6f1e7")):
        inside = [place[room] for room in place if room == folder or room.startswith(folder + "/")]
        top, bottom = min(y for _, y in inside) - 12, max(y for _, y in inside) + HIGH + 12
        out.append(f'<rect x="8" y="{top}" width="{WIDTH - 16}" height="{bottom - top}" rx="8" fill="{colour}"/>')
        out.append(f'<text x="18" y="{top + 18}" fill="#667">{folder}/</text>')
    for room, targets in sorted(reduced(arrows).items()):
        for to in sorted(targets, key=lambda other: place[other]):
            (x, y), (u, v) = place[room], place[to]
            far = (y - v) / ROW
            bend = 0 if far < 1.5 or x != u else 90 + 14 * far
            aside = min(bend / 4, BOX / 2 - 10)
            start, end = (x + aside, y), (u + aside, v + HIGH)
            out.append(f'<path d="M{start[0]:.0f} {start[1]:.0f}C{x + bend:.0f} {y - 24:.0f} {u + bend:.0f} '
                       f'{v + HIGH + 24:.0f} {end[0]:.0f} {end[1]:.0f}" fill="none" stroke="#667" stroke-opacity="0.7" '
                       'marker-end="url(#to)"/>')
    for room, (x, y) in place.items():
        headers = f"{size[room]} header" + ("s" if size[room] != 1 else "")
        out.append(f'<rect x="{x - BOX / 2:.0f}" y="{y}" width="{BOX}" height="{HIGH}" rx="5" fill="#fff" stroke="#334"/>')
        out.append(f'<text x="{x:.0f}" y="{y + 19}" text-anchor="middle">{room}<title>{headers}</title></text>')
    return "\n".join(out) + "\n</svg>\n"


def main():
    update = "--update" in sys.argv
    root = pathlib.Path([word for word in sys.argv[1:] if word != "--update"][0])
    picture = root / "rooms.svg"
    text = draw(root)
    if update:
        picture.write_text(text)
        return 0
    if picture.exists() and picture.read_text() == text:
        print("the map is current")
        return 0
    print(f"{picture}: the rooms have changed: python3 tests/layers/map.py --update include/tapeless")
    return 1


if __name__ == "__main__":
    sys.exit(main())
