package system

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// tokenBytes is the size of the API token: 256 bits.
const tokenBytes = 32

// EnsureToken returns the API token of the home. It creates a token if there is none or the file is
// damaged. Only the file's owner can read the file; EnsureToken revokes access of others. It never
// overwrites the target of a link.
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
		return "", fmt.Errorf("token %s not found: %w; the daemon creates one at its next start", path, innermostError(err))
	}
	if err != nil {
		return "", fmt.Errorf("read the token %s: %w; move the file elsewhere, and the daemon creates a new one at its next start", path, innermostError(err))
	}
	s := strings.TrimSpace(string(b))
	if raw, err := hex.DecodeString(s); err != nil || len(raw) != tokenBytes {
		return "", fmt.Errorf("read the token %s: %w; the daemon creates a new one at its next start", path, errDamagedToken)
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

// keyBytes is the size of a key file: 256 bits.
const keyBytes = 32

// EnsureKey returns the key in a file that only the user can read, and creates the file if it does
// not exist. If the file does not contain a valid key, it returns an error, because replacing the
// key would invalidate everything that it signed.
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
		return nil, fmt.Errorf("the file %s does not contain a key; restore it from a copy, or move the file elsewhere: Hob creates a new one at the next start", path)
	}
	return key, nil
}

// Endpoint is the address at which a home's running daemon listens. The daemon writes it, and
// commands read it, because the configuration may have changed since the daemon started and its
// port may be 0.
type Endpoint struct {
	PID     int    `json:"pid"`
	Address string `json:"address"` // host:port
	Version string `json:"version"`
	// Pin is the hex SHA-256 of the server's certificate; "" without TLS.
	Pin string `json:"pin,omitempty"`
}

// WriteEndpoint records the address of this daemon.
func WriteEndpoint(path string, e Endpoint) error {
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return WriteFile(path, append(b, '\n'))
}

// ReadEndpoint returns the endpoint that the daemon with this process id wrote, or false if it has
// not written one yet.
func ReadEndpoint(path string, pid int) (Endpoint, bool, error) {
	b, err := ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Endpoint{}, false, nil
	}
	if err != nil {
		return Endpoint{}, false, fmt.Errorf("read %s: %w", path, innermostError(err))
	}
	var e Endpoint
	if json.Unmarshal(b, &e) != nil || e.PID != pid || e.Address == "" {
		return Endpoint{}, false, nil // the file of an older daemon
	}
	return e, true, nil
}
