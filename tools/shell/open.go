package shell

import (
	"os"

	"hob/autonomy/config"
	"hob/platform/host/command"
	"hob/platform/host/denypaths"
)

// OpenOptions are the options of Open; Config is required.
type OpenOptions struct {
	Config *config.Config
	// Home is the user's home folder. If it is "", the home folder of this process is used.
	Home string
	// Protected are locations that no command may access, even within allowed folders.
	Protected []string
	// Readable are folders in Protected that commands may read: the folder of the skills.
	Readable []string
	// Helper is the path of this program followed by its hidden command; see command.Serve. Without
	// it no command runs.
	Helper []string
}

// Open returns the analyzer and the runner for commands.
func Open(o OpenOptions) (Deps, error) {
	c, home := o.Config, o.Home
	if home == "" {
		var err error
		if home, err = os.UserHomeDir(); err != nil {
			return Deps{}, err
		}
	}
	allowed := c.Files.Allowed
	if c.Files.Drop != "" {
		allowed = append(append([]string{}, allowed...), c.Files.Drop)
	}
	judge, err := command.New(command.Options{
		Home: home, Allowed: allowed, Allow: c.Shell.Allow,
		Places: denypaths.New(denypaths.Options{Home: home, Own: o.Protected, Allowed: allowed, Readable: o.Readable}), Readable: o.Readable,
	})
	if err != nil {
		return Deps{}, c.Errorf("shell", "%v", err)
	}
	runner, err := command.NewRunner(command.RunOptions{Judge: judge, Sandbox: c.Shell.Sandbox, Helper: o.Helper})
	if err != nil {
		return Deps{}, c.Errorf("shell.sandbox", "%v", err)
	}
	return Deps{Judge: judge, Runner: runner}, nil
}
