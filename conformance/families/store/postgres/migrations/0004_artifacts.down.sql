DROP TABLE artifacts;
DROP TYPE artifacttype;
