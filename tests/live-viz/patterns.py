"""What frames.cpp shows."""
TILES = 7


def rectangle(tile, width, height, shift):
    """Where a tile is: x, y, width, height."""
    return tile * width // 5 - 3 + shift[0], tile * height // 6 - 2 + shift[1], width // 3 + tile, height // 2


def value(tile, x, y, code):
    return x * 3 + y * 5 + tile * 40 + code


def pixels(way, width, height, code, shift):
    """The image as it is put together: a number a channel, rows from the top."""
    channels = {"grey": 1, "float": 1, "floatmax": 1}.get(way, 3)
    image = [0] * (width * height * channels)
    for tile in range(TILES):
        if tile == 3:
            continue
        x0, y0, tile_width, tile_height = rectangle(tile, width, height, shift)
        for y in range(max(y0, 0), min(y0 + tile_height, height)):
            for x in range(max(x0, 0), min(x0 + tile_width, width)):
                if (x + y) % 4 == 0:
                    continue
                for channel in range(channels):
                    at = (y * width + x) * channels + channel
                    number = value(tile, x, y, code)
                    new = (number & 31) / 64 - 0.125 if "float" in way else number + channel * 7 & 255
                    if "max" in way:
                        image[at] = max(image[at], new)
                    else:
                        image[at] = image[at] + new if way == "float" else min(image[at] + new, 255)
    return image


def rainbow(number):
    """colorScale() from 0 to 1."""
    place = number * 5
    if not 0 <= place <= 5:
        return 255, 255, 255
    part = min(int(place), 4)
    up, down = int((place - part) * 255), int(255 - (place - part) * 255)
    return ((255, up, 0), (down, 255, 0), (0, 255, up), (0, down, 255), (up, 0, 255))[part]


def frame(way, width, height, code=0, shift=(0, 0), own_colors=False):
    """What a client gets."""
    image = pixels(way, width, height, code, shift)
    if way not in ("float", "floatmax"):
        return bytes(image)
    if own_colors:
        return bytes(int(number * 64) + code + channel & 255 for number in image for channel in range(3))
    return bytes(one for number in image for one in rainbow(number))


def polled(image):
    """The width and the bytes of one of the images that are there from the beginning."""
    width = 30 + image
    return width, bytes(0 if (x + y) % 4 == 0 else value(y // 4, x, y, image) + channel * 7 & 255
                        for y in range(4 * TILES) for x in range(width) for channel in range(3))
