import unittest

def broken()
