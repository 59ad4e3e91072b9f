"""Files that are never half written, directories with one writer, artefacts with a checksum."""
