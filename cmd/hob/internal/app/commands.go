package app

import (
	"os"

	"hob/autonomy/config"
	"hob/platform/host/command"
	"hob/platform/host/denypaths"
	"hob/platform/host/system"
	"hob/tools/shell"
)

// NewCommands returns the analyzer and the runner of commands. helper is this program and its
// hidden command, see command.Serve; without it no command runs.
func NewCommands(p system.Paths, c *config.Config, home string, helper []string) (shell.Deps, error) {
	if home == "" {
		var err error
		if home, err = os.UserHomeDir(); err != nil {
			return shell.Deps{}, err
		}
	}
	allowed := c.Files.Allowed
	if c.Files.Drop != "" {
		allowed = append(append([]string{}, allowed...), c.Files.Drop)
	}
	judge, err := command.New(command.Options{
		Home: home, Allowed: allowed, Allow: c.Shell.Allow,
		Places: denypaths.New(denypaths.Options{Home: home, Own: protectedPaths(p, c), Allowed: allowed}),
	})
	if err != nil {
		return shell.Deps{}, c.Errorf("shell", "%v", err)
	}
	runner, err := command.NewRunner(command.RunOptions{Judge: judge, Sandbox: c.Shell.Sandbox, Helper: helper})
	if err != nil {
		return shell.Deps{}, c.Errorf("shell.sandbox", "%v", err)
	}
	return shell.Deps{Judge: judge, Runner: runner}, nil
}
