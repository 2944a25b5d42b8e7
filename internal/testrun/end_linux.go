package testrun

// EndTree kills a process and all below it, and those of its group whose parents have ended, as a run does whose time
// is up.
func EndTree(root int) { newFamily(root, nil, func(string) {}).end() }
