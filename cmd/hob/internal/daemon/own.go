package daemon

import (
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"
)

// maxOwn bounds SOUL.md and USER.md, in bytes: they are part of every request.
const maxOwn = 100_000

// readOptional reads a text that the owner may have written.
func readOptional(path string) (string, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("%w; make it a file that you may read, or move it away", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxOwn+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("%w; make it a file that you may read, or move it away", err)
	case len(b) > maxOwn:
		return "", fmt.Errorf("%s is larger than %d KB; shorten it, as the model reads it with every message", path, maxOwn/1000)
	case !utf8.Valid(b):
		return "", fmt.Errorf("%s is not valid UTF-8; save it as UTF-8", path)
	}
	return string(b), nil
}
