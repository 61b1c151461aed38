// Modules that import the model see the core that it is built on.
@_exported public import LarderCore
