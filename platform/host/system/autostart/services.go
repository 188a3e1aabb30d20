package autostart

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"hob/platform/retry"
)

// detectKind returns the mechanism that is already installed, or the best available one.
func (m *Manager) detectKind(ctx context.Context) Kind {
	if k := systemKind(); k != "" {
		return k
	}
	for _, k := range []Kind{Systemd, XDG} { // an installed entry takes precedence over a running service manager
		m.kind = k
		if _, err := os.Lstat(m.entryLocation()); err == nil {
			return k
		}
	}
	if m.checkSystemd(ctx) == nil {
		return Systemd
	}
	return XDG
}

// checkSystemd returns nil if systemd manages the user's session.
func (m *Manager) checkSystemd(ctx context.Context) error {
	_, err := m.runSystemctl(ctx, "show-environment")
	return err
}

func (m *Manager) runSystemctl(ctx context.Context, args ...string) (string, error) {
	name, err := m.o.Look("systemctl")
	if err != nil {
		return "", fmt.Errorf("autostart: systemd not found: %w", err)
	}
	return m.o.Run(ctx, name, append([]string{"--user", "--no-pager"}, args...)...)
}

func (m *Manager) reloadUnits(ctx context.Context) error {
	_, err := m.runSystemctl(ctx, "daemon-reload")
	return err
}

func (m *Manager) installUnit(ctx context.Context, start bool) error {
	if err := m.reloadUnits(ctx); err != nil {
		return fmt.Errorf("the unit was written, but systemd could not reload it: %w", err)
	}
	if _, err := m.runSystemctl(ctx, "enable", unitName); err != nil {
		return err
	}
	if !start {
		return nil
	}
	_, err := m.runSystemctl(ctx, "start", unitName)
	return err
}

// Start starts the installed entry. The error wraps errors.ErrUnsupported if the system starts
// entries only at login.
func (m *Manager) Start(ctx context.Context) (err error) {
	switch m.kind {
	case Systemd:
		_, err = m.runSystemctl(ctx, "start", unitName)
	case Launchd:
		_, err = m.o.Run(ctx, launchctl, "kickstart", launchdDomain()+"/"+Label)
	case XDG, RunKey:
		err = fmt.Errorf("autostart: start service: %w", errors.ErrUnsupported)
	}
	return err
}

func (m *Manager) disableUnit(ctx context.Context) error {
	if m.checkSystemd(ctx) != nil {
		return nil // no service manager is running that could start the unit
	}
	_, err := m.runSystemctl(ctx, "disable", unitName)
	return err
}

// packagedUnit returns the enabled unit that a package installed, which systemd starts without an
// entry by Hob. place is "" if there is none.
func (m *Manager) packagedUnit(ctx context.Context) (place, text string) {
	if m.kind != Systemd {
		return "", ""
	}
	out, err := m.runSystemctl(ctx, "show", unitName, "--property=FragmentPath,UnitFileState")
	if err != nil {
		return "", ""
	}
	enabled := false
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		enabled = enabled || line == "UnitFileState=enabled"
		if path, ok := strings.CutPrefix(line, "FragmentPath="); ok {
			place = path
		}
	}
	if !enabled || !filepath.IsAbs(place) || place == m.entryLocation() {
		return "", ""
	}
	if text, err = readOwnFile(place); err != nil || text == "" {
		return "", ""
	}
	return place, text
}

// disablePackaged disables the unit of a package. It returns false if there is none.
func (m *Manager) disablePackaged(ctx context.Context) (bool, error) {
	place, _ := m.packagedUnit(ctx)
	if place == "" {
		return false, nil
	}
	if err := m.disableUnit(ctx); err != nil {
		return false, err
	}
	if still, _ := m.packagedUnit(ctx); still != "" {
		return false, fmt.Errorf("autostart: %s is enabled for all users of this machine; run: sudo systemctl --global disable hob", place)
	}
	return true, nil
}

func (m *Manager) unitStatus(ctx context.Context, s *Status) {
	out, err := m.runSystemctl(ctx, "show", unitName, "--property=UnitFileState,ActiveState")
	if err != nil {
		s.Note = "systemd does not respond: " + err.Error()
		return
	}
	for line := range strings.Lines(out) {
		switch strings.TrimSpace(line) {
		case "UnitFileState=enabled":
			s.Enabled = true
		case "ActiveState=active":
			s.Running = true
		case "ActiveState=failed":
			s.Note = "the service failed; see: journalctl --user -u hob"
		}
	}
}

const launchctl = "/bin/launchctl"

func launchdDomain() string { return "gui/" + strconv.Itoa(os.Getuid()) }

// installAgent makes launchd load the file. It retries, because launchctl returns before the
// previous agent is unloaded, and loading too early fails.
func (m *Manager) installAgent(ctx context.Context, place string, start bool) error {
	_, _ = m.o.Run(ctx, launchctl, "enable", launchdDomain()+"/"+Label) // the user may have disabled the agent
	if !start {
		return nil // launchd loads the agent at the next login
	}
	if _, err := m.o.Run(ctx, launchctl, "print", launchdDomain()+"/"+Label); err == nil {
		_, _ = m.o.Run(ctx, launchctl, "bootout", launchdDomain()+"/"+Label)
		for end := time.Now().Add(m.o.Wait); ; {
			if _, err := m.o.Run(ctx, launchctl, "print", launchdDomain()+"/"+Label); err != nil {
				break
			}
			if time.Now().After(end) || retry.Sleep(ctx, 100*time.Millisecond) != nil {
				return fmt.Errorf("launchd did not unload the previous agent; log out and in")
			}
		}
	}
	if _, err := m.o.Run(ctx, launchctl, "bootstrap", launchdDomain(), place); err != nil {
		return fmt.Errorf("launchd did not load the agent (it needs a graphical session and loads the agent at the next login): %w", err)
	}
	return nil
}

func (m *Manager) agentStatus(ctx context.Context, s *Status) {
	s.Enabled = true
	if out, err := m.o.Run(ctx, launchctl, "print-disabled", launchdDomain()); err == nil && (strings.Contains(out, `"`+Label+`" => disabled`) || strings.Contains(out, `"`+Label+`" => true`)) {
		s.Enabled, s.Note = false, "it is disabled in System Settings (Login Items)"
	}
	out, err := m.o.Run(ctx, launchctl, "print", launchdDomain()+"/"+Label)
	s.Running = err == nil && strings.Contains(out, "state = running")
}
