package skills

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"hob/platform/host/system"
)

// trustRecord records which files of a skill the user trusted, and when.
type trustRecord struct {
	Digest string    `json:"digest"`
	From   string    `json:"from,omitempty"`
	At     time.Time `json:"at"`
}

// trustFile is the content of the file with the trusted digests. It is not in the folder of the
// skills, so that a copied folder cannot bring its own trust.
type trustFile struct {
	Skills map[string]trustRecord `json:"skills"`
}

// maxTrustFile is the maximum size of the file in bytes.
const maxTrustFile = 1 << 20

// readTrust reads the trusted digests. If the file does not exist, no skill is trusted.
func readTrust(path string) (trustFile, error) {
	t := trustFile{Skills: map[string]trustRecord{}}
	fi, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return t, err
	}
	if fi.Size() > maxTrustFile {
		return t, fmt.Errorf("%s is larger than %d KiB; delete it and trust your skills again: hob skill trust NAME", path, maxTrustFile>>10)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return t, err
	}
	if err := json.Unmarshal(b, &t); err != nil || t.Skills == nil {
		return trustFile{Skills: map[string]trustRecord{}}, fmt.Errorf("%s is damaged; delete it and trust your skills again: hob skill trust NAME", path)
	}
	return t, nil
}

func (t trustFile) writeFile(path string) error {
	b, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return err
	}
	return system.WriteFile(path, append(b, '\n'))
}

// applyTo sets the state of a valid skill from HOB_HOME/skills.
func (t trustFile) applyTo(folder string, s *Skill) {
	r, ok := t.Skills[folder]
	switch {
	case !ok:
		s.State = StateUntrusted
	case r.Digest != s.Digest:
		s.State, s.From, s.Added = StateChanged, r.From, r.At
	default:
		s.State, s.From, s.Added = StateTrusted, r.From, r.At
	}
}
