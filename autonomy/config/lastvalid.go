package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hob/platform/host/system"
)

// lastValidFile, in the folder of the revisions, names the newest text of config.toml that was
// valid: one that Hob started with, or found while it ran.
const lastValidFile = "last-valid"

// MarkValid stores the text of a configuration as the last valid one. A missing file is none: an
// editor that replaces the file must not bring the defaults into force.
func (c Revisions) MarkValid(valid *Config) error {
	if len(valid.doc.text) == 0 {
		return nil
	}
	sum := sha256.Sum256(valid.doc.text)
	name := hex.EncodeToString(sum[:])
	if now, err := os.ReadFile(filepath.Join(c.Dir, lastValidFile)); err == nil && strings.TrimSpace(string(now)) == name && c.Names(name) {
		return nil
	}
	if err := system.WriteFile(filepath.Join(c.Dir, name), valid.doc.text); err != nil {
		return err
	}
	return system.WriteFile(filepath.Join(c.Dir, lastValidFile), []byte(name+"\n"))
}

// LastValid returns the last valid configuration; fs.ErrNotExist if there is none.
func (c Revisions) LastValid() (*Config, error) {
	name, err := os.ReadFile(filepath.Join(c.Dir, lastValidFile))
	if err != nil {
		return nil, err
	}
	text, err := c.readRevision(strings.TrimSpace(string(name)))
	if err != nil {
		return nil, err
	}
	return Parse(c.Path, text)
}

// LoadOrLast loads the file. If the file is invalid and a last valid text exists, it returns the
// latter, with the error of the file as Config.Replaces. It never falls back to defaults: the file may restrict
// what Hob may do.
func (c Revisions) LoadOrLast() (*Config, error) {
	cfg, err := Load(c.Path)
	if err == nil || !IsMistake(err) {
		return cfg, err
	}
	return c.LastInstead(err)
}

// LastInstead returns the last valid configuration in place of a file with a mistake, or the mistake
// if there is none.
func (c Revisions) LastInstead(mistake error) (*Config, error) {
	last, err := c.LastValid()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, mistake
	case err != nil:
		return nil, errors.Join(mistake, err)
	}
	last.Replaces = mistake
	return last, nil
}

// IsMistake reports whether an error is about the content of the configuration.
func IsMistake(err error) bool {
	_, one := errors.AsType[*Error](err)
	return one
}
