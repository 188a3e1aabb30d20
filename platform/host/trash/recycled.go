package trash

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf16"
)

// errIndex means that a $I file cannot be parsed.
var errIndex = errors.New("not a metadata file of the Recycle Bin")

// parseIndex returns an item's original path from its $I file. Version 1 (Vista to 8.1) has 260 UTF-16 units,
// version 2 (from Windows 10) a length in units including the terminating zero. Microsoft does not document the
// format; see
// https://github.com/libyal/dtformats/blob/main/documentation/Windows%20Recycle.Bin%20file%20formats.asciidoc
func parseIndex(b []byte) (original string, err error) {
	if len(b) < 24 {
		return "", fmt.Errorf("%w: %d bytes", errIndex, len(b))
	}
	var name []byte
	switch v := binary.LittleEndian.Uint64(b); v {
	case 1:
		name = b[24:]
	case 2:
		if len(b) < 28 {
			return "", fmt.Errorf("%w: %d bytes", errIndex, len(b))
		}
		units := uint64(binary.LittleEndian.Uint32(b[24:]))
		name = b[28:]
		if units > 1<<15 || uint64(len(name)) < 2*units {
			return "", fmt.Errorf("%w: file is truncated", errIndex)
		}
		name = name[:2*units]
	default:
		return "", fmt.Errorf("%w: version %d", errIndex, v)
	}
	var units []uint16
	for i := 0; i+1 < len(name); i += 2 {
		u := binary.LittleEndian.Uint16(name[i:])
		if u == 0 {
			break
		}
		units = append(units, u)
	}
	if len(units) == 0 {
		return "", fmt.Errorf("%w: file name is missing", errIndex)
	}
	return string(utf16.Decode(units)), nil
}
