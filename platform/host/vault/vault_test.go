package vault

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"hob/platform/host/system"
)

const canary = "sk-canary-4711"

func openVault(t *testing.T, dir string, env map[string]string) *Vault {
	t.Helper()
	return New(Options{
		Path: filepath.Join(dir, "secrets.age"), Identity: filepath.Join(dir, "config", "identity"), Work: 10,
		Getenv: func(name string) string { return env[name] },
	})
}

func failOnError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// checkNoSecret fails the test if an error contains a secret.
func checkNoSecret(t *testing.T, err error) {
	t.Helper()
	if err != nil && (strings.Contains(err.Error(), canary) || strings.Contains(err.Error(), "AGE-SECRET")) {
		t.Errorf("the error contains a secret: %v", err)
	}
}

func TestVault_StoresSecrets(t *testing.T) {
	for name, env := range map[string]map[string]string{"for a key of its own": nil, "for a passphrase": {PassphraseEnv: "correct horse"}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			v := openVault(t, dir, env)
			if _, err := v.Get(t.Context(), "mail"); !errors.Is(err, system.ErrNoSecret) {
				t.Errorf("Get before a secret is stored = %v", err)
			}
			if err := v.Remove(t.Context(), "mail"); !errors.Is(err, system.ErrNoSecret) {
				t.Errorf("Remove before a secret is stored = %v", err)
			}
			failOnError(t, v.Set(t.Context(), "mail", canary))
			failOnError(t, v.Set(t.Context(), "other", "x"))
			v = openVault(t, dir, env)
			if got, err := v.Get(t.Context(), "mail"); got != canary || err != nil {
				t.Errorf("%q, %v", got, err)
			}
			failOnError(t, v.Set(t.Context(), "mail", canary+"2"))
			failOnError(t, v.Remove(t.Context(), "other"))
			if got, _ := v.Get(t.Context(), "mail"); got != canary+"2" {
				t.Errorf("%q", got)
			}
			if names, err := v.Names(t.Context()); err != nil || fmt.Sprint(names) != "[mail]" {
				t.Errorf("Names = %v, %v", names, err)
			}
			raw, err := os.ReadFile(v.opt.Path)
			failOnError(t, err)
			if !strings.HasPrefix(string(raw), "age-encryption.org/v1\n") || strings.Contains(string(raw), canary) || strings.Contains(string(raw), "mail") {
				t.Errorf("the file is not encrypted: %.60q", raw)
			}
			for _, path := range []string{v.opt.Path, v.opt.Identity} {
				if fi, err := os.Stat(path); err == nil && fi.Mode().Perm()&0o077 != 0 {
					t.Errorf("%s has the mode %v", path, fi.Mode())
				}
			}
		})
	}
}

func TestVault_KeepsAFileForAnotherKey(t *testing.T) {
	pass := map[string]string{PassphraseEnv: "correct horse"}
	for name, tc := range map[string]struct {
		first, then map[string]string
		between     func(t *testing.T, v *Vault)
	}{
		"another passphrase": {pass, map[string]string{PassphraseEnv: "wrong"}, nil},
		"no passphrase":      {pass, nil, nil},
		"the key is missing": {nil, nil, func(t *testing.T, v *Vault) { failOnError(t, os.Remove(v.opt.Identity)) }},
		"another key": {nil, nil, func(t *testing.T, v *Vault) {
			failOnError(t, os.Remove(v.opt.Identity))
			_, err := v.makeIdentity()
			failOnError(t, err)
		}},
		"an invalid key": {nil, nil, func(t *testing.T, v *Vault) {
			failOnError(t, os.WriteFile(v.opt.Identity, []byte("AGE-SECRET-KEY-1X\n"), 0o600))
		}},
		"a key that others can read":     {nil, nil, func(t *testing.T, v *Vault) { failOnError(t, os.Chmod(v.opt.Identity, 0o644)) }},
		"secrets that others can read":   {nil, nil, func(t *testing.T, v *Vault) { failOnError(t, os.Chmod(v.opt.Path, 0o644)) }},
		"a file that is of a newer form": {nil, nil, func(t *testing.T, v *Vault) { v.writeText(t, `{"version":2,"secrets":{"a":"`+canary+`"}}`) }},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			v := openVault(t, dir, tc.first)
			failOnError(t, v.Set(t.Context(), "mail", canary))
			if tc.between != nil {
				tc.between(t, v)
			}
			before, err := os.ReadFile(v.opt.Path)
			failOnError(t, err)
			v = openVault(t, dir, tc.then)
			_, err = v.Get(t.Context(), "mail")
			if err == nil || errors.Is(err, system.ErrNoSecret) || errors.Is(err, ErrDamaged) {
				t.Errorf("read: %v", err)
			}
			checkNoSecret(t, err)
			err = v.Set(t.Context(), "mail", "new")
			if err == nil {
				t.Error("Set overwrote the file")
			}
			checkNoSecret(t, err)
			if after, err := os.ReadFile(v.opt.Path); err != nil || string(after) != string(before) {
				t.Errorf("the file was changed: %v", err)
			}
		})
	}
}

// writeText encrypts text and writes it to the secrets file.
func (v *Vault) writeText(t *testing.T, text string) {
	t.Helper()
	id, err := v.readIdentity()
	failOnError(t, err)
	failOnError(t, os.WriteFile(v.opt.Path, encryptText(t, id.Recipient(), text), 0o600))
}

// A damaged file is never overwritten: the next write moves it aside.
func TestVault_MovesADamagedFileAside(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, v *Vault, raw []byte) []byte{
		"cut":           func(_ *testing.T, _ *Vault, raw []byte) []byte { return raw[:len(raw)-1] },
		"cut short":     func(_ *testing.T, _ *Vault, raw []byte) []byte { return raw[:30] },
		"empty":         func(*testing.T, *Vault, []byte) []byte { return nil },
		"a bit changed": func(_ *testing.T, _ *Vault, raw []byte) []byte { raw[len(raw)-3] ^= 1; return raw },
		"another file": func(*testing.T, *Vault, []byte) []byte {
			return []byte(`{"mail":"` + canary + `"}`)
		},
		"not secrets": func(t *testing.T, v *Vault, _ []byte) []byte {
			v.writeText(t, `{"secrets":["`+canary+`"]}`)
			raw, err := os.ReadFile(v.opt.Path)
			failOnError(t, err)
			return raw
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			v := openVault(t, dir, nil)
			failOnError(t, v.Set(t.Context(), "mail", canary))
			raw, err := os.ReadFile(v.opt.Path)
			failOnError(t, err)
			raw = damage(t, v, raw)
			failOnError(t, os.WriteFile(v.opt.Path, raw, 0o600))
			v = openVault(t, dir, nil)
			_, err = v.Get(t.Context(), "mail")
			if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "hob secret set") {
				t.Fatalf("read: %v", err)
			}
			checkNoSecret(t, err)
			if _, err := v.Names(t.Context()); !errors.Is(err, ErrDamaged) {
				t.Errorf("names: %v", err)
			}
			failOnError(t, v.Set(t.Context(), "other", "x"))
			aside, err := filepath.Glob(v.opt.Path + ".damaged-*")
			failOnError(t, err)
			if len(aside) != 1 {
				t.Fatalf("set aside: %v", aside)
			}
			if kept, err := os.ReadFile(aside[0]); err != nil || string(kept) != string(raw) {
				t.Errorf("the file that was moved aside differs: %v", err)
			}
			if got, err := v.Get(t.Context(), "other"); got != "x" || err != nil {
				t.Errorf("the new file: %q, %v", got, err)
			}
		})
	}
}

func TestVault_ConcurrentWrites(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for i := range 8 {
		v := openVault(t, dir, nil) // one Vault for each simulated process
		if i == 0 {
			failOnError(t, v.Set(t.Context(), "first", "x")) // creates the key that all of them use
		}
		wg.Go(func() {
			for j := range 4 {
				if err := v.Set(t.Context(), fmt.Sprintf("s%d.%d", i, j), "x"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if names, err := openVault(t, dir, nil).Names(t.Context()); err != nil || len(names) != 33 {
		t.Errorf("%d names, %v", len(names), err)
	}
}

// Without a keychain, package system stores secrets in the file and resolves the same references.
func TestVault_ReplacesTheKeychain(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("on other systems the keychain is part of the system, which tests must not change")
	}
	dir := t.TempDir()
	none := func(string) string { return "" }
	s := system.Secrets{Fallback: openVault(t, dir, nil), Index: filepath.Join(dir, "names"), Getenv: none}
	where, err := s.Keep(t.Context(), "mail", canary, false)
	if where != system.InFile {
		t.Fatalf("Keep = %q, %v", where, err)
	}
	if v, err := s.Resolve(t.Context(), "keychain:mail"); v.Reveal() != canary || err != nil {
		t.Errorf("%v", err)
	}
	if _, err := s.Resolve(t.Context(), "keychain:other"); !errors.Is(err, system.ErrNoSecret) || !strings.Contains(err.Error(), "hob secret set other") {
		t.Errorf("Resolve of a missing secret = %v", err)
	}
	if list, err := s.List(t.Context()); err != nil || fmt.Sprint(list) != "[{mail encrypted file}]" {
		t.Errorf("List = %v, %v", list, err)
	}
	for _, name := range []string{"", "-x", "a b", "../x", strings.Repeat("x", 101)} {
		if _, err := s.Keep(t.Context(), name, canary, false); err == nil {
			t.Errorf("%q was accepted as a name", name)
		}
	}
	failOnError(t, s.Forget(t.Context(), "mail"))
	if err := s.Forget(t.Context(), "mail"); !errors.Is(err, system.ErrNoSecret) {
		t.Errorf("second Forget = %v", err)
	}
}
