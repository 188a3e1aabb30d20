package agents

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hob/platform/text/minitmpl"
)

// Scaffold creates an agent's folder (0700) with SOUL.md, USER.md and MEMORY.md (0600), and
// returns the created files. It does not change existing files.
func Scaffold(dir, name, about string) (made []string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the agent's folder: %w", err)
	}
	t, err := minitmpl.Parse(soulText)
	if err != nil {
		return nil, fmt.Errorf("agents: parse the template of SOUL.md: %w", err)
	}
	var soul strings.Builder
	if err := t.Execute(&soul, struct{ Name, About string }{strings.ToUpper(name[:1]) + name[1:], strings.TrimSpace(about)}); err != nil {
		return nil, fmt.Errorf("agents: fill in the template of SOUL.md: %w", err)
	}
	for _, f := range [][2]string{{"SOUL.md", soul.String()}, {"USER.md", ""}, {"MEMORY.md", ""}} {
		path := filepath.Join(dir, f[0])
		switch err := createFile(path, f[1]); {
		case errors.Is(err, fs.ErrExist):
		case err != nil:
			return made, fmt.Errorf("create the agent's folder: %w", err)
		default:
			made = append(made, path)
		}
	}
	return made, nil
}

func createFile(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
