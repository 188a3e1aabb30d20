package setup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"hob/platform/host/system"
)

// The states of a step.
const (
	stateDone    = "done"
	stateSkipped = "skipped"
)

// progress records which steps of an unfinished setup are done. It does not contain the answers,
// which are in the configuration.
type progress struct {
	Version int               `json:"version"`
	Steps   map[string]string `json:"steps"`
}

const progressVersion = 1

func progressFile(p system.Paths) string { return filepath.Join(p.Data, "setup.json") }

// readProgress returns the saved progress. An unreadable file counts as no progress; all steps are
// then asked again, with the previous answers as defaults.
func readProgress(p system.Paths) progress {
	out := progress{Version: progressVersion, Steps: map[string]string{}}
	b, err := os.ReadFile(progressFile(p))
	if err != nil {
		return out
	}
	var was progress
	if json.Unmarshal(b, &was) == nil && was.Version == progressVersion && was.Steps != nil {
		return was
	}
	return out
}

// hasAny reports whether any of steps was done or skipped.
func (p progress) hasAny(steps []Step) bool {
	for _, s := range steps {
		if p.Steps[s.Name] != "" {
			return true
		}
	}
	return false
}

func (p progress) saveStep(paths system.Paths, step, state string) error {
	p.Steps[step] = state
	b, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return system.WriteFile(progressFile(paths), append(b, '\n'))
}

// Restart deletes the progress, so that the next setup starts over.
func Restart(p system.Paths) error {
	if err := os.Remove(progressFile(p)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete the progress of setup: %w", err)
	}
	return nil
}
