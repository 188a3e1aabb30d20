package system

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
)

// Endpoint is the listen address of a home's running daemon. The daemon writes it when it listens;
// commands read it, because the configuration may have changed since then, and its port may be 0.
type Endpoint struct {
	PID     int    `json:"pid"`
	Address string `json:"address"` // host:port
	Version string `json:"version"`
	// Pin is the hex SHA-256 of the server's certificate, "" without TLS.
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

// ReadEndpoint returns the endpoint that the daemon with this process id wrote, and false if it has
// written none yet.
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
		return Endpoint{}, false, nil // an older daemon's
	}
	return e, true, nil
}
