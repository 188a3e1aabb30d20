package main

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const top = "../../../.."

// TestRecipe checks that every file in the Linux packages exists or is created by `dist -only
// files`.
func TestRecipe(t *testing.T) {
	r, err := readRecipe(filepath.Join(top, ".goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if r.Name != "hob" || len(r.Formats) != 2 || len(r.Contents) < 8 {
		t.Errorf("%+v", r)
	}
	for _, c := range r.Contents {
		src, _ := c["src"].(string)
		dst, _ := c["dst"].(string)
		if !filepath.IsAbs(dst) {
			t.Errorf("%s is installed as %q", src, dst)
		}
		if rest, ok := strings.CutPrefix(src, "bin/dist/files/"); ok {
			switch strings.Split(rest, "/")[0] {
			case "icons", "completions", "man":
			default:
				t.Errorf("no recipe creates %s", src)
			}
			continue
		}
		if _, err := os.Stat(filepath.Join(top, src)); err != nil {
			t.Error(err)
		}
	}
}

// TestPlists checks that the property lists are valid XML and contain all keys that macOS requires.
func TestPlists(t *testing.T) {
	for _, text := range []string{infoPlist, string(entitlements)} {
		d := xml.NewDecoder(strings.NewReader(text))
		for {
			_, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, key := range []string{"CFBundleIdentifier", "LSUIElement", "NSAppleEventsUsageDescription", "NSCalendarsFullAccessUsageDescription", "NSRemindersFullAccessUsageDescription", "NSContactsUsageDescription", "NSDesktopFolderUsageDescription"} {
		if !strings.Contains(infoPlist, "<key>"+key+"</key>") {
			t.Errorf("Info.plist lacks %s", key)
		}
	}
}

// TestApp checks that a bundle contains its files, is reproducible, and has a valid icon.
func TestApp(t *testing.T) {
	icon, err := encodeICNS(16, 32)
	if err != nil || !bytes.HasPrefix(icon, []byte("icns")) || int(icon[7])|int(icon[6])<<8|int(icon[5])<<16 != len(icon) {
		t.Fatalf("icon has %d bytes, %v", len(icon), err)
	}
	var made [2][]byte
	for i := range made {
		o := options{out: t.TempDir(), version: "v1.2.3-rc.1", made: time.Unix(1700000000, 0).UTC()}
		if err := o.writeOutput(icon, "files", "icons", "Hob.icns"); err != nil {
			t.Fatal(err)
		}
		if err := o.writeOutput([]byte("program"), "build", "hob"); err != nil {
			t.Fatal(err)
		}
		if err := o.packApp(target{"darwin", "arm64"}, o.outputPath("build", "hob")); err != nil {
			t.Fatal(err)
		}
		if made[i], err = os.ReadFile(o.outputPath("app", "Hob_1.2.3-rc.1_arm64_unsigned.zip")); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(made[0], made[1]) {
		t.Error("two bundles of the same files differ")
	}
	z, err := zip.NewReader(bytes.NewReader(made[0]), int64(len(made[0])))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range z.File {
		names = append(names, f.Name+" "+f.Mode().String())
	}
	want := "Hob.app/Contents/Info.plist -rw-r--r--, Hob.app/Contents/MacOS/hob -rwxr-xr-x, Hob.app/Contents/PkgInfo -rw-r--r--, Hob.app/Contents/Resources/Hob.icns -rw-r--r--, entitlements.plist -rw-r--r--"
	if got := strings.Join(names, ", "); got != want {
		t.Errorf("got %s", got)
	}
}

func TestPlainVersion(t *testing.T) {
	for given, want := range map[string]string{
		"v1.2.3": "1.2.3", "1.2.3": "1.2.3", "v1.3.0-rc.1": "1.3.0-rc.1", "v1.2.3-4-gabc1234-dirty": "1.2.3-4.gabc1234.dirty",
		"c15e98bf": "0.0.0-dev.c15e98bf", "9c15e98b-dirty": "0.0.0-dev.9c15e98b.dirty", "dev": "0.0.0-dev.dev",
	} {
		if got := (&options{version: given}).plainVersion(); got != want {
			t.Errorf("%s: %s, want %s", given, got, want)
		}
	}
}
