// The standard library in PUP: nothing of it shows in generated code.
