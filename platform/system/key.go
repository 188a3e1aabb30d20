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

// EnsureKey returns the key in a file that only the owner can read, and makes one
// when there is none. A file that holds no key is an error: what it signed would
// be lost with it.
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

// ReadKey reads the key in a file; the error wraps fs.ErrNotExist when there is
// none.
func ReadKey(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the key %s: %w; give its owner the right to read it", path, reason(err))
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(b)))
	if err != nil || len(key) != keyBytes {
		return nil, fmt.Errorf("the file %s does not hold a key; bring it back from a copy, or move it away: the next start makes a new one", path)
	}
	return key, nil
}
