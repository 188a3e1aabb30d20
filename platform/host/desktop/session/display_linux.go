package session

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Display returns the number of a local display. A remote display, as over ssh, says nothing
// about the user at this machine.
func Display(name string) (string, error) {
	host, rest, ok := strings.Cut(name, ":")
	number, _, _ := strings.Cut(rest, ".")
	if !ok || host != "" && host != "unix" || number == "" || len(number) > 5 || strings.Trim(number, "0123456789") != "" {
		return "", fmt.Errorf("DISPLAY is %q, which is not a display of this machine", name)
	}
	return number, nil
}

// Cookie returns the secret of a display from a file of xauth(1), "" selects the file in the
// home folder; nil if there is none.
func Cookie(file, home, number string) []byte {
	if file == "" {
		file = filepath.Join(home, ".Xauthority")
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	next := func() []byte {
		if len(b) < 2 {
			b = nil
			return nil
		}
		n := int(binary.BigEndian.Uint16(b))
		if len(b) < 2+n {
			b = nil
			return nil
		}
		out := b[2 : 2+n]
		b = b[2+n:]
		return out
	}
	for len(b) > 2 {
		b = b[2:] // skip the address family
		_, display, name, data := next(), next(), next(), next()
		if string(name) == "MIT-MAGIC-COOKIE-1" && (string(display) == number || len(display) == 0) {
			return data
		}
	}
	return nil
}
