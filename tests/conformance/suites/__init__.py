"""The suites, in the order in which they run: quick ones first.

A suite is a module with NAME, TITLE, VERSION, SOURCE (the registry), PEER and PEER_PASSES (measured on the same tests),
CONFIG where the broker needs one, `prepare(folder)`, which fetches and installs, and `run(folder, ports)`, which returns {test: None or why it failed}.
"""

from . import amqplib_js, mosquitto_scripts, mosquitto_vectors, pika_acceptance, py_amqp

ALL = [
    mosquitto_vectors.STRICT,
    mosquitto_vectors.LENIENT,
    py_amqp,
    amqplib_js,
    pika_acceptance,
    mosquitto_scripts,
]
