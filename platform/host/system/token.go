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

// tokenBytes is the size of the API token: 256 bits.
const tokenBytes = 32

// EnsureToken returns the API token of the home and creates one if there is none or the file
// is damaged. Only the file's owner can read it; EnsureToken revokes the access of others. It
// never overwrites the target of a link.
func EnsureToken(path string) (Secret, error) {
	t, err := ReadToken(path)
	if err == nil {
		return t, closeToOthers(path)
	}
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errDamagedToken) {
		return "", err
	}
	return NewToken(path)
}

// NewToken creates a token and replaces the existing one.
func NewToken(path string) (Secret, error) {
	if fi, lerr := os.Lstat(path); lerr == nil && !fi.Mode().IsRegular() {
		return "", fmt.Errorf("the token %s is a link to a file without a token; remove the link", path)
	}
	b := make([]byte, tokenBytes)
	rand.Read(b) // never fails, see crypto/rand
	s := hex.EncodeToString(b)
	if err := WriteFile(path, []byte(s+"\n")); err != nil {
		return "", err
	}
	return Secret(s), nil
}

var errDamagedToken = errors.New("file does not contain a token")

// ReadToken reads the API token. The error wraps fs.ErrNotExist if no daemon has run in this home yet.
func ReadToken(path string) (Secret, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("token %s not found: %w; the next start creates one", path, innermostError(err))
	}
	if err != nil {
		return "", fmt.Errorf("read the token %s: %w; move it away, the next start creates a new one", path, innermostError(err))
	}
	s := strings.TrimSpace(string(b))
	if raw, err := hex.DecodeString(s); err != nil || len(raw) != tokenBytes {
		return "", fmt.Errorf("read the token %s: %w; the next start creates a new one", path, errDamagedToken)
	}
	return Secret(s), nil
}

func closeToOthers(path string) error {
	fi, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("check %s: %w", path, innermostError(err))
	}
	if othersMayRead(fi) {
		if err := os.Chmod(path, 0o600); err != nil {
			return fmt.Errorf("the file %s can be read by others and its mode cannot be changed: %w; run chmod 600 on it", path, innermostError(err))
		}
	}
	return nil
}
