DROP TABLE id_reservations;
DROP TABLE id_registry;
