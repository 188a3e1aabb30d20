package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"hob/autonomy/service"
	"hob/cmd/hob/internal/setup"
	"hob/cmd/hob/internal/setup/form"
	"hob/platform/host/desktop"
	"hob/platform/host/permission"
	"hob/platform/host/system"
	"hob/platform/host/vault"
	"hob/templates"
)

// setupFlags holds the flags of `hob setup`.
type setupFlags struct {
	answers        string
	plain, restart bool
}

func (a *cli) setupCmd() *cobra.Command {
	var f setupFlags
	cmd := &cobra.Command{
		Use: "setup [STEP...]", Short: "Set up the model, channels, accounts and more", ValidArgs: setup.Names(),
		RunE: a.runCommand(func(c *cobra.Command, args []string) error { return a.runSetup(c.Context(), f, args) }),
	}
	cmd.Flags().StringVar(&f.answers, "answers", "", "read the answers from this TOML file instead of asking")
	cmd.Flags().BoolVar(&f.plain, "plain", false, "ask line by line, for screen readers (also if ACCESSIBLE is set)")
	cmd.Flags().BoolVar(&f.restart, "restart", false, "restart an interrupted setup from the first step")
	return cmd
}

func (a *cli) runSetup(ctx context.Context, f setupFlags, steps []string) error {
	o, err := a.setupOptions()
	if err != nil {
		return err
	}
	switch {
	case f.answers != "" && len(steps) > 0:
		return usageErrorf("--answers runs the steps that the file answers; remove %s", strings.Join(steps, " "))
	case f.answers != "":
		err = setup.FromFile(ctx, o, f.answers)
	default:
		err = a.askSetup(ctx, o, f, steps)
	}
	if errors.Is(err, setup.ErrLeft) || err != nil && ctx.Err() != nil && f.answers == "" {
		fmt.Fprintln(a.err, "Setup stopped. Your answers are saved; continue with: hob setup")
		return context.Canceled
	}
	if err != nil {
		return err
	}
	return a.restartToApply(ctx, o.Paths)
}

// askSetup asks on the terminal: in a form if the terminal can show one, otherwise line by line.
func (a *cli) askSetup(ctx context.Context, o setup.Options, f setupFlags, steps []string) error {
	if _, in := terminalFD(a.in); !in && !f.plain {
		return usageErrorf("setup needs a terminal for its questions; provide the answers with --answers FILE, or line by line on standard input with --plain")
	}
	if f.restart {
		if err := setup.Restart(o.Paths); err != nil {
			return err
		}
	}
	return setup.Run(ctx, o, a.terminalAsker(f.plain), steps...)
}

// terminalAsker returns an asker that uses a form if the terminal can show one, and otherwise asks
// line by line.
func (a *cli) terminalAsker(plain bool) setup.Asker {
	fd, in := terminalFD(a.in)
	_, out := terminalFD(a.out)
	if !in {
		fd = -1
	}
	if in && out && !plain && form.Capable(os.Getenv) {
		return &form.Form{In: a.in, Out: rawWriter(a.out)}
	}
	return &setup.Plain{In: bufio.NewReader(a.in), Out: a.out, FD: fd}
}

// setupOptions returns the terminal, stores and tests for setup.
func (a *cli) setupOptions() (setup.Options, error) {
	p, cfg, err := a.loadHome()
	if err != nil {
		return setup.Options{}, err
	}
	lines := bufio.NewReader(a.in)
	o := setup.Options{
		Paths: p, Config: cfg, Out: a.out, Secrets: vault.SecretsFor(p), DNS: net.DefaultResolver,
		Edit: func(ctx context.Context, what string, edit func() error) error {
			return a.editConfig(ctx, p, what, edit)
		},
		FindTemplate: func(name string) error {
			_, err := templateShelf(p).Find(name)
			return err
		},
		UseTemplate: func(ctx context.Context, name string) error {
			return a.useTemplate(ctx, name, templateConsent{yes: true})
		},
		Autostart: a.setAutostart, Starts: a.startsAtLogin, TestChannel: a.tryChannel,
		Open: func(ctx context.Context, address string) error {
			return desktop.New(desktop.Options{}).Open(ctx, address)
		},
		Stdin: func() (string, error) {
			s, err := lines.ReadString('\n')
			if s = strings.TrimRight(s, "\r\n"); s != "" {
				err = nil
			}
			return s, err
		},
	}
	if runtime.GOOS == "darwin" {
		o.Permissions = func(ctx context.Context) ([]permission.Permission, error) { return a.missingPermissions(ctx, p) }
	}
	o.Templates = func() ([]setup.Option, string, error) { return a.templateOptions(p) }
	return o, nil
}

// templateOptions returns the available templates and the active one.
func (a *cli) templateOptions(p system.Paths) (out []setup.Option, inUse string, err error) {
	list, err := templateShelf(p).List()
	if err != nil {
		return nil, "", err
	}
	for _, t := range list {
		if t.Err == nil {
			out = append(out, setup.Option{Value: t.Name, Title: t.Name + ": " + t.Description})
		}
	}
	h, err := service.OpenTemplates(p, things{a})
	if err != nil {
		return nil, "", err
	}
	s, err := h.State()
	if errors.Is(err, templates.ErrNoneInUse) {
		err = nil
	}
	return out, s.Name, err
}

// startsAtLogin reports whether Hob starts at login. known is false if this cannot be determined.
func (a *cli) startsAtLogin(ctx context.Context) (is, known bool) {
	m, e, err := a.findService(ctx, "")
	if err != nil {
		return false, false
	}
	s, err := m.Status(ctx, e)
	return s.Installed && s.Same, err == nil
}

// missingPermissions asks the daemon for its missing permissions, because the permissions of a
// terminal do not apply to a daemon started by the session. If no daemon runs, this program checks
// its own permissions.
func (a *cli) missingPermissions(ctx context.Context, p system.Paths) (list []permission.Permission, err error) {
	c, running, err := a.dialDaemon(ctx, p)
	if !running {
		return permission.List(), err
	}
	if err != nil {
		return nil, err
	}
	list, err = c.Permissions(ctx)
	return list, errors.Join(err, c.closeEngine())
}
