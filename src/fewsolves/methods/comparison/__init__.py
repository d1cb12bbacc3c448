"""Methods of others to compare with: LODL, EGL, LANCER, perturbed gradients, and memory without a surrogate.

A method is one file here as in the folder above. LODL and EGL, `local_lodl.py` and `local_egl.py`, pay for regrets
before training and turn them into one cheap loss per example: `local_loss.py` is what both share, `local_forms.py` the
families of losses, `local_network.py` the small networks of EGL, and of LANCER.
"""
