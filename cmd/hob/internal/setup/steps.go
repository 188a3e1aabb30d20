package setup

// Steps returns all steps in their order. To add one, add a line.
func Steps() []Step {
	return []Step{
		brainStep(),
		aboutYouStep(),
		channelStep(),
		accountStep(),
		searchStep(),
		foldersStep(),
		quietStep(),
		templateStep(),
		featuresStep(),
		autostartStep(),
		permissionsStep(),
	}
}

// Names of the steps.
func Names() (out []string) {
	for _, s := range Steps() {
		out = append(out, s.Name)
	}
	return out
}
