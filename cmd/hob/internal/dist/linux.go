package main

import (
	"fmt"
	"os"

	"go.yaml.in/yaml/v3"
)

// recipe is the description of the Linux packages in .goreleaser.yaml.
type recipe struct {
	Name        string           `yaml:"package_name"`
	Formats     []string         `yaml:"formats"`
	Vendor      string           `yaml:"vendor"`
	Maintainer  string           `yaml:"maintainer"`
	Description string           `yaml:"description"`
	License     string           `yaml:"license"`
	Section     string           `yaml:"section"`
	Priority    string           `yaml:"priority"`
	Bindir      string           `yaml:"bindir"`
	Recommends  []string         `yaml:"recommends"`
	Contents    []map[string]any `yaml:"contents"`
}

func readRecipe(path string) (recipe, error) {
	var all struct {
		Packages []recipe `yaml:"nfpms"`
	}
	b, err := os.ReadFile(path)
	if err == nil {
		err = yaml.Unmarshal(b, &all)
	}
	if err == nil && len(all.Packages) != 1 {
		err = fmt.Errorf("%s describes %d packages; one is expected", path, len(all.Packages))
	}
	if err != nil {
		return recipe{}, err
	}
	return all.Packages[0], nil
}

// nfpmOf returns the recipe for one target in the format of the program nfpm.
func (o *options) nfpmOf(r recipe, t target, program string) ([]byte, error) {
	contents := []map[string]any{{"src": program, "dst": r.Bindir + "/hob", "file_info": map[string]any{"mode": 0o755}}}
	contents = append(contents, r.Contents...)
	return yaml.Marshal(map[string]any{
		"name": r.Name, "arch": t.arch, "platform": t.os, "version": o.plainVersion(), "vendor": r.Vendor, "maintainer": r.Maintainer,
		"description": r.Description, "license": r.License, "section": r.Section, "priority": r.Priority,
		"recommends": r.Recommends, "contents": contents, "mtime": o.made,
	})
}

// buildPackages builds the Linux packages.
func (o *options) buildPackages(t target, program string) error {
	r, err := readRecipe(".goreleaser.yaml")
	if err != nil {
		return err
	}
	b, err := o.nfpmOf(r, t, program)
	if err != nil {
		return err
	}
	conf := "build/nfpm_" + t.arch + ".yaml"
	if err := o.writeOutput(b, conf); err != nil {
		return err
	}
	for _, format := range r.Formats {
		if err := runCommand(nil, o.nfpm, "package", "--config", o.outputPath(conf), "--packager", format, "--target", o.out); err != nil {
			return err
		}
	}
	return nil
}
