package config

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"hob/platform/host/system"
)

// These files, in the folder of the revisions, identify texts of config.toml: the newest text that
// every check found valid, and the newest text with which Hob has started.
const (
	lastValidFile  = "last-valid"
	lastOpenedFile = "last-opened"
)

// MarkValid stores the text of a configuration as the last valid one. A missing file is not a valid
// text: while an editor replaces the file, the defaults must not apply.
func (c Revisions) MarkValid(valid *Config) error { return c.markText(lastValidFile, valid) }

// MarkOpened stores the text like MarkValid, and also as one with which Hob can start.
func (c Revisions) MarkOpened(opened *Config) error {
	return errors.Join(c.markText(lastValidFile, opened), c.markText(lastOpenedFile, opened))
}

func (c Revisions) markText(file string, cfg *Config) error {
	if len(cfg.doc.text) == 0 {
		return nil
	}
	sum := sha256.Sum256(cfg.doc.text)
	name := hex.EncodeToString(sum[:])
	if now, err := os.ReadFile(filepath.Join(c.Dir, file)); err == nil && strings.TrimSpace(string(now)) == name && c.Names(name) {
		return nil
	}
	if err := system.WriteFile(filepath.Join(c.Dir, name), cfg.doc.text); err != nil {
		return err
	}
	return system.WriteFile(filepath.Join(c.Dir, file), []byte(name+"\n"))
}

// LastValid returns the last valid configuration, or fs.ErrNotExist if there is none.
func (c Revisions) LastValid() (*Config, error) { return c.loadMarked(lastValidFile) }

// Substitutes returns the configurations with which Hob may start in place of a file with a mistake,
// best first: the last valid one and the last one that Hob started with.
func (c Revisions) Substitutes(mistake error) (out []*Config) {
	for _, file := range []string{lastValidFile, lastOpenedFile} {
		if cfg, err := c.loadMarked(file); err == nil {
			cfg.Replaces = mistake
			out = append(out, cfg)
		}
	}
	return out
}

func (c Revisions) loadMarked(file string) (*Config, error) {
	name, err := os.ReadFile(filepath.Join(c.Dir, file))
	if err != nil {
		return nil, err
	}
	text, err := c.readRevision(strings.TrimSpace(string(name)))
	if err != nil {
		return nil, err
	}
	return Parse(c.Path, text)
}

// Load reads and checks the file as the function Load does, and rejects a file that has lost its text.
func (c Revisions) Load() (*Config, error) {
	cfg, err := Load(c.Path)
	if err == nil {
		err = c.checkEmptied(cfg.doc.text)
	}
	if err != nil {
		return nil, err
	}
	return cfg, nil
}

// LoadOrLast loads the file. If the file is invalid, it returns the last valid configuration if
// there is one, with the error in the file as Config.Replaces. It never falls back to defaults: the
// file may restrict what Hob may do.
func (c Revisions) LoadOrLast() (*Config, error) {
	cfg, err := c.Load()
	if err == nil || !IsMistake(err) {
		return cfg, err
	}
	if substitutes := c.Substitutes(err); len(substitutes) > 0 {
		return substitutes[0], nil
	}
	return nil, err
}

// checkEmptied returns an error if the file exists without any text although an earlier text was
// valid. An editor leaves such a file if the disk is full.
func (c Revisions) checkEmptied(text []byte) error {
	if !isBlank(text) {
		return nil
	}
	if _, err := os.Stat(c.Path); err != nil {
		return nil //nolint:nilerr // a missing file means the defaults
	}
	_, err := c.LastValid()
	name, rerr := os.ReadFile(filepath.Join(c.Dir, lastValidFile))
	if err != nil || rerr != nil {
		return nil //nolint:nilerr // there is no earlier text
	}
	return Errors{{File: c.Path, Msg: "the file is empty; copy its last valid text back from " + filepath.Join(c.Dir, strings.TrimSpace(string(name))) + ", or delete the file to use the defaults"}}
}

func isBlank(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }

// IsMistake reports whether an error is about the content of the configuration.
func IsMistake(err error) bool {
	_, one := errors.AsType[*Error](err)
	return one
}
