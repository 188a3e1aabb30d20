package autostart

import (
	"errors"
	"fmt"

	"golang.org/x/sys/windows/registry"
)

func systemKind() Kind { return RunKey }

// approvedKey is the registry key in which Windows records disabled values: the first byte of a
// disabled value is odd.
const approvedKey = `Software\Microsoft\Windows\CurrentVersion\Explorer\StartupApproved\Run`

func setRun(text string) error {
	k, _, err := registry.CreateKey(registry.CURRENT_USER, runKey, registry.SET_VALUE)
	if err != nil {
		return fmt.Errorf("autostart: open the Run key: %w", err)
	}
	defer k.Close()
	if err := k.SetStringValue(runName, text); err != nil {
		return fmt.Errorf("autostart: write the Run key: %w", err)
	}
	return nil
}

func removeRun() (bool, error) {
	k, err := registry.OpenKey(registry.CURRENT_USER, runKey, registry.SET_VALUE)
	if errors.Is(err, registry.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("autostart: open the Run key: %w", err)
	}
	defer k.Close()
	err = k.DeleteValue(runName)
	if errors.Is(err, registry.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("autostart: change the Run key: %w", err)
	}
	return true, nil
}

func readRun() (text string, enabled bool, err error) {
	k, err := registry.OpenKey(registry.CURRENT_USER, runKey, registry.QUERY_VALUE)
	if errors.Is(err, registry.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("autostart: open the Run key: %w", err)
	}
	defer k.Close()
	text, _, err = k.GetStringValue(runName)
	if errors.Is(err, registry.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("autostart: read the Run key: %w", err)
	}
	enabled = true
	if a, err := registry.OpenKey(registry.CURRENT_USER, approvedKey, registry.QUERY_VALUE); err == nil {
		defer a.Close()
		if b, _, err := a.GetBinaryValue(runName); err == nil && len(b) > 0 && b[0]%2 == 1 {
			enabled = false
		}
	}
	return text, enabled, nil
}
