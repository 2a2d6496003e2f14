"""Every limit of size, number and time that protects a reader, the machine or the picture, with
its reason. What a server's operator may set is in `explorer.sandbox.options`.
"""

# --- program: what is read of a text, and kept of its run ---

# --- trace: what is recorded, explained and tried ---

# --- training: presses, runs and surfaces ---

# --- networks: models, inspections and graphs ---

# --- vision: images, weights and maps ---

#: Bytes of an image's file: a camera's photograph has fewer.
IMAGE_BYTES = 20 * 2**20
#: Pixels that a file may declare, by the formats that are read. They keep decoding under 300 MB: a
#: JPEG is shrunk while it is decoded; WebP and AVIF need several copies.
IMAGE_PIXELS = {
    "JPEG": 100_000_000,
    "PNG": 40_000_000,
    "GIF": 40_000_000,
    "BMP": 40_000_000,
    "TIFF": 30_000_000,
    "PPM": 40_000_000,
    "WEBP": 16_000_000,
    "AVIF": 16_000_000,
}
#: The longer side by the shorter: networks resize the shorter to about 256 pixels, and the longer
#: must stay bounded too.
IMAGE_ASPECT = 10
#: Pixels; an image whose longer side has more is shrunk by a whole factor.
IMAGE_SIDE = 2048
#: Characters of a sentence about an image, and sentences: a child says them of a stranger's file.
IMAGE_TEXT, IMAGE_NOTES = 300, 10
#: Bytes of a file of weights; the largest network here has 133 million parameters.
WEIGHTS_BYTES = 600 * 2**20
#: Bytes of the list of tensors with which a safetensors file begins: reading one of 30 MB takes
#: seconds and 700 MB; the longest of a network here has 0.1 MB.
WEIGHTS_LIST = 2**20
#: Of what torch.save has written: its parts, the bytes of its pickle, and the bytes that all parts
#: have unpacked. A small file can claim to be endless.
CHECKPOINT_ENTRIES, CHECKPOINT_PICKLE = 50_000, 4 * 2**20
CHECKPOINT_UNPACKED = 512 * 2**20
#: Prefixes that are taken from the names of tensors.
MOST_WRAPPERS = 4
#: Classes of a network, and of a file's last layer.
MOST_CLASSES = 2000
#: Seconds that a download of weights waits for the next byte.
SILENT_DOWNLOAD = 15.0
#: Bytes of a layer's input that a browser gets for its pointer; the other channels are summed.
POINTER_BYTES = 450_000
#: The sides in pixels, from and to, of the square images that a reader's own network may take.
OWN_IMAGE_SIDES = (8, 512)
#: Of what a child says of a reader's network: values of an array (the maps of a large layer), a
#: side, and rows or columns of an input with its padding, which a browser draws.
MAP_VALUES, MAP_SIDE, PADDED_SIDE = 2**23, 2**16, 4096

# --- sandbox: children, messages and the queue ---

# --- pages: what a page holds, shows and asks for ---

#: What a browser gives back to another server after a loss, which may be anything: values, the
#: characters of one and of a page's query.
MOST_KEPT, MOST_KEPT_CHARACTERS, MOST_QUERY_CHARACTERS = 20, 200_000, 100_000
#: Losses of a file that are counted: the size of an upload grows by one megabyte with each.
MOST_LOSSES = 9
#: Seconds that a page may take before its server is ready: the first waits for the sandbox.
FIRST_RUN_SECONDS = 60.0

#: Feature maps: seconds that a child may take to decode an image.
DECODING_SECONDS = 10.0
#: The largest file of weights in megabytes; the server's own limit is a little higher. Reading it
#: takes as much again, of what a child may use: 512 MB on a server.
WEIGHTS_MEGABYTES = 240
#: Bytes of values in a file of all maps.
MAPS_FILE = 32 * 2**20
#: About how many bytes are kept for all readers together, the last one whatever its size: networks
#: with weights, those on other devices, what is known of readers' programs, results, and of each
#: kind what a page makes of them, inputs and pointers' numbers, and pictures.
KEPT_MODELS, KEPT_ON_DEVICES, KEPT_OWN_NETWORKS = 256 * 2**20, 2**30, 4 * 2**20
KEPT_RESULTS, KEPT_INPUTS, KEPT_PICTURES = 128 * 2**20, 32 * 2**20, 16 * 2**20
