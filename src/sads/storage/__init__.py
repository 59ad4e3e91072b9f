"""Files that are whole or not there, directories with one writer, artefacts under a checksum."""
