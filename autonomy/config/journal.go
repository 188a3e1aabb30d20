package config

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"hob/platform/host/system"
)

// ErrEdited means that the file has changed since the journaled change, so that replacing its text
// would destroy an edit.
var ErrEdited = errors.New("the configuration was edited since this change")

// Revisions stores earlier versions of the file for undo, named by their SHA-256. They may contain
// secrets from the file, so they are private (0600).
type Revisions struct {
	Path string // path of config.toml
	Dir  string
}

// ChangeTool is the tool name of configuration changes in the journal. The tool cannot be called,
// because no model may change the configuration.
const ChangeTool = "change_config"

// RevisionChange names the versions of the file before and after one change. It is the undo record
// of ChangeTool.
type RevisionChange struct {
	Before string `json:"before"`
	After  string `json:"after"`
}

// absent stands for a file that did not exist.
const absent = "absent"

// Keep makes the current version of the file durable and returns its name.
func (c Revisions) Keep() (string, error) {
	text, fi, err := readConfigFile(c.Path)
	if err != nil {
		return "", err
	}
	if fi == nil {
		return absent, nil
	}
	if err := c.checkEmptied(text); err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	name := hex.EncodeToString(sum[:])
	if err := system.WriteFile(filepath.Join(c.Dir, name), text); err != nil {
		_ = os.Remove(c.Dir) // removes the folder only if it is empty
		_ = os.Remove(filepath.Dir(c.Dir))
		return "", fmt.Errorf("save the current content of %s for undo: %w", filepath.Base(c.Path), err)
	}
	return name, nil
}

// Put replaces the file with the stored version called to. It returns ErrEdited if the content of
// the file is not the version called from.
func (c Revisions) Put(from, to string) error {
	now, err := c.Keep()
	if err != nil {
		return err
	}
	if now != from {
		return ErrEdited
	}
	if to == absent {
		return os.Remove(c.Path)
	}
	text, err := c.readRevision(to)
	if err != nil {
		return err
	}
	if isBlank(text) { // the user had an empty file
		if err := os.Remove(filepath.Join(c.Dir, lastValidFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return system.WriteFile(c.Path, text)
}

// readRevision reads a stored version and verifies its hash.
func (c Revisions) readRevision(name string) ([]byte, error) {
	want, err := hex.DecodeString(name)
	if err != nil || len(want) != sha256.Size { // the name becomes part of a path
		return nil, fmt.Errorf("%q is not the name of a stored version of the configuration", name)
	}
	text, err := os.ReadFile(filepath.Join(c.Dir, name))
	if err != nil {
		return nil, fmt.Errorf("the stored version of the configuration no longer exists: %w", err)
	}
	if sum := sha256.Sum256(text); !bytes.Equal(sum[:], want) {
		return nil, errors.New("the stored version of the configuration is damaged")
	}
	return text, nil
}

// Names reports whether a stored version has this name.
func (c Revisions) Names(name string) bool {
	_, err := c.readRevision(name)
	return name == absent || err == nil
}

// Purge removes every stored version, for example because one contains a secret that was moved
// elsewhere.
func (c Revisions) Purge() error { return system.RemoveAll(c.Dir) }
