package config

import (
	"strings"
	"testing"
)

// A key that decides what Hob may do must not become changeable on the page by accident.
func TestChangeableOnPage_RefusesKeysThatLoosenSafety(t *testing.T) {
	changeable := 0
	for _, k := range Keys() {
		if !ChangeableOnPage(k.Name) {
			continue
		}
		changeable++
		if k.Many || IsSecret(k.Name) {
			t.Errorf("%s is a secret or may occur several times", k.Name)
		}
		section, _, _ := strings.Cut(k.Name, ".")
		switch section {
		case "agent", "autonomy", "plan", "budget", "notify", "watchers", "knowledge", "browser", "tray":
		default:
			t.Errorf("%s is in a section that decides what Hob may do", k.Name)
		}
		for _, word := range []string{"level", "allow", "recipients", "command", "path", "url", "model", "fallback", "channel", "sandbox", "listen", "send_delay", "confidence", "guest"} {
			if strings.Contains(k.Name, word) {
				t.Errorf("%s contains %s", k.Name, word)
			}
		}
	}
	if changeable < 30 {
		t.Errorf("only %d keys exist of those that the page may change; a key was renamed", changeable)
	}
	for _, key := range []string{"autonomy.level", "shell.allow", "files.allowed", "providers.x.command", "hooks", "unknown.key", ""} {
		if ChangeableOnPage(key) {
			t.Errorf("the page may change %q", key)
		}
	}
}
