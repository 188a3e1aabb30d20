package system

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// keyBytes is the size of a key file: 256 bits.
const keyBytes = 32

// EnsureKey returns the key in a file that only the user can read, and creates the file if it
// does not exist. A file without a valid key is an error, because replacing it would
// invalidate everything that it signed.
func EnsureKey(path string) ([]byte, error) {
	key, err := ReadKey(path)
	if err == nil {
		return key, closeToOthers(path)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	key = make([]byte, keyBytes)
	rand.Read(key) // never fails, see crypto/rand
	return key, WriteFile(path, []byte(hex.EncodeToString(key)+"\n"))
}

// ReadKey reads the key in a file. The error wraps fs.ErrNotExist if the file does not exist.
func ReadKey(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the key %s: %w; make it readable for its owner", path, innermostError(err))
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(b)))
	if err != nil || len(key) != keyBytes {
		return nil, fmt.Errorf("the file %s does not contain a key; restore it from a copy, or move it away: the next start creates a new one", path)
	}
	return key, nil
}
