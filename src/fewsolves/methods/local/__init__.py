"""Local losses, LODL and EGL: regrets paid before training, turned into one cheap loss per example.

Begin with `loss.py` (what both share) and `forms.py` (the families of losses); `lodl.py` and `egl.py` are the methods,
`network.py` the small networks of EGL, and of LANCER.
"""
