;;; strobe-dap-mode.el --- Strobe in Emacs, by dap-mode  -*- lexical-binding: t -*-

;; Load this file; M-x dap-debug then offers strobe's templates. A configuration of one's own needs :type "strobe" and
;; :program, or :request "attach" with :sessionId.

(require 'dap-mode)
(require 'dap-ui)

(defun strobe-dap-mode-fill (conf)
  "Fill what CONF, a configuration, does not say."
  (dolist (default `((:dap-server-path ("strobe" "dap")) (:request "launch") (:cwd ,default-directory)))
    (dap--put-if-absent conf (car default) (cadr default)))
  (when (equal (plist-get conf :program) 'ask)
    (plist-put conf :program (expand-file-name (read-file-name "Program: "))))
  conf)

(dap-register-debug-provider "strobe" #'strobe-dap-mode-fill)
(dap-register-debug-template "Strobe: a program" '(:type "strobe" :name "Strobe" :program ask))
(dap-register-debug-template
 "Strobe: this Python file" '(:type "strobe" :name "Strobe" :program "python3" :args ["${file}"]))
(dap-register-debug-template
 "Strobe: this JavaScript file" '(:type "strobe" :name "Strobe" :program "node" :args ["${file}"]))

(provide 'strobe-dap-mode)
;;; strobe-dap-mode.el ends here
