"""Decision trees and rules that people can read, edit and trust."""
